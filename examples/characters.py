"""A small transformer learns to continue a poem, character by character: gradients of nested parameters, and Adam."""

import numpy as np

import tapegrad
from tapegrad import tensor

TEXT = """\
Tyger Tyger, burning bright,
In the forests of the night;
What immortal hand or eye,
Could frame thy fearful symmetry?

In what distant deeps or skies,
Burnt the fire of thine eyes?
On what wings dare he aspire?
What the hand, dare seize the fire?

And what shoulder, & what art,
Could twist the sinews of thy heart?
And when thy heart began to beat,
What dread hand? & what dread feet?
"""  # William Blake, 1794
ALPHABET = sorted(set(TEXT))
TOKENS = np.array([ALPHABET.index(character) for character in TEXT])

# So small that a matrix product is not worth a second thread: on a busy machine threads would wait for each other.
WIDTH, HEADS, BLOCKS = 24, 4, 2
LENGTH = 16  # how many characters it sees
BATCH = 6
STEPS = 600


def parameters(draw):
    """Arrays in dicts and lists: the gradient will have the same structure."""

    def linear(before, after):
        return {"weight": draw.normal(size=(before, after)) / np.sqrt(before), "bias": np.zeros(after)}

    def norm():
        return {"weight": np.ones(WIDTH), "bias": np.zeros(WIDTH)}

    def block():
        return {
            "before_attention": norm(),
            "queries_keys_values": linear(WIDTH, 3 * WIDTH),
            "attended": linear(WIDTH, WIDTH),
            "before_network": norm(),
            "wide": linear(WIDTH, 4 * WIDTH),
            "narrow": linear(4 * WIDTH, WIDTH),
        }

    return {
        "characters": draw.normal(scale=0.1, size=(len(ALPHABET), WIDTH)),
        "positions": draw.normal(scale=0.1, size=(LENGTH, WIDTH)),
        "blocks": [block() for _ in range(BLOCKS)],
        "at_the_end": norm(),
        "logits": linear(WIDTH, len(ALPHABET)),
    }


def linear(x, p):
    """x·weight + bias."""
    return x @ p["weight"] + p["bias"]


def norm(x, p):
    """Each position with mean 0 and variance 1, then scaled and moved."""
    return tensor.layer_norm(x, p["weight"], p["bias"])


def attention(x, p):
    """Each position gathers from those before it, with several heads."""
    batch, length, width = x.shape

    def heads(part):
        return tensor.swapaxes(part.reshape(batch, length, HEADS, width // HEADS), 1, 2)

    q, k, v = map(heads, tensor.split(linear(x, p["queries_keys_values"]), 3, axis=-1))
    seen = tensor.scaled_dot_product_attention(q, k, v, causal=True)
    return linear(tensor.swapaxes(seen, 1, 2).reshape(batch, length, width), p["attended"])


def logits(p, tokens):
    """For each position how much speaks for each next character."""
    x = tensor.embedding(p["characters"], tokens) + p["positions"][: tokens.shape[1]]
    for block in p["blocks"]:
        x = x + attention(norm(x, block["before_attention"]), block)
        x = x + linear(tensor.gelu(linear(norm(x, block["before_network"]), block["wide"])), block["narrow"])
    return linear(norm(x, p["at_the_end"]), p["logits"])


def loss(p, tokens, following):
    """How surprising the following characters are, in nats."""
    return tensor.softmax_cross_entropy(logits(p, tokens), following)


def batches(draw):
    """Pieces of the text, and the same one character later, for ever."""
    while True:
        starts = draw.integers(len(TOKENS) - LENGTH, size=(BATCH, 1))
        pieces = TOKENS[starts + np.arange(LENGTH + 1)]
        yield pieces[:, :-1], pieces[:, 1:]


def arrays(tree):
    """The arrays in dicts and lists, one after the other."""
    if isinstance(tree, np.ndarray):
        return [tree]
    return [array for part in (tree.values() if isinstance(tree, dict) else tree) for array in arrays(part)]


class SGD:
    """Plain gradient descent."""

    def __init__(self, p, rate):
        self.arrays = arrays(p)
        self.rate = rate

    def step(self, gradient):
        """Changes the parameters in place."""
        for x, g in zip(self.arrays, arrays(gradient), strict=True):
            x -= self.rate * g


class Adam:
    """Steps of about the same length for every number, whatever the size of its gradient (Kingma and Ba, 2014)."""

    def __init__(self, p, rate, decays=(0.9, 0.999), epsilon=1e-8):
        self.arrays = arrays(p)
        self.means = [np.zeros_like(x) for x in self.arrays]
        self.squares = [np.zeros_like(x) for x in self.arrays]
        self.rate, self.decays, self.epsilon = rate, decays, epsilon
        self.count = 0

    def step(self, gradient):
        """Changes the parameters in place."""
        self.count += 1
        first, second = self.decays
        for x, g, mean, square in zip(self.arrays, arrays(gradient), self.means, self.squares, strict=True):
            mean += (1 - first) * (g - mean)
            square += (1 - second) * (g * g - square)
            # both began at 0: what is missing from the averages is divided out
            size = np.sqrt(square / (1 - second**self.count)) + self.epsilon
            x -= self.rate * (mean / (1 - first**self.count)) / size


def train(p, optimiser, steps, seed=0):
    """Takes steps; gives the loss before each."""
    value_and_grad = tapegrad.value_and_grad(loss)
    for _, (tokens, following) in zip(range(steps), batches(np.random.default_rng(seed)), strict=False):
        value, gradient = value_and_grad(p, tokens, following)
        optimiser.step(gradient)
        yield value


def continued(p, text, count):
    """A text with its likeliest continuation."""
    for _ in range(count):
        tokens = np.array([[ALPHABET.index(character) for character in text[-LENGTH:]]])
        text += ALPHABET[logits(p, tokens).data[0, -1].argmax()]
    return text


if __name__ == "__main__":
    p = parameters(np.random.default_rng(0))
    for step, value in enumerate(train(p, Adam(p, rate=3e-3), STEPS)):
        if step % 100 == 0 or step == STEPS - 1:
            print(f"step {step:3}: loss {value:.3f}")
    print(continued(p, "Tyger Tyger, ", 80))
