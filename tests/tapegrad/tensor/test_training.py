"""Training: the examples learn, and a transformer trains step by step as it does in PyTorch."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from oracles import tensor as oracle

from tapegrad.tensor.instruction import PRIMITIVES

EXAMPLES = Path(__file__).parents[3] / "examples"
STEPS = 20
# Both compute in float64, in orders of their own, and differ by about 1e-15; other BLAS libraries may do so by more.
TOLERANCE = 1e-10
RATES = {"SGD": 0.1, "Adam": 3e-3}


def example(name):
    """What an example defines, without its main part."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name=name)


@pytest.mark.parametrize("seed", range(3))
def test_a_network_learns_two_spirals(seed):
    lines = []
    assert example("spirals")["train"](seed, report=lines.append) > 0.95
    before, after = (float(line.split("loss ")[1].split(",")[0]) for line in (lines[0], lines[-1]))
    assert after < before / 10


@pytest.fixture(scope="module")
def characters():
    return example("characters")


def initial(characters):
    return characters["parameters"](np.random.default_rng(0))


def losses(characters, optimiser):
    """The losses of the first steps."""
    p = initial(characters)
    assert {array.dtype for array in characters["arrays"](p)} == {np.dtype(np.float64)}
    return list(characters["train"](p, characters[optimiser](p, RATES[optimiser]), STEPS))


class InTorch:
    """The transformer of the example, written in PyTorch with PyTorch's functions and optimisers."""

    def __init__(self, characters):
        self.torch = oracle.import_torch()
        self.heads = characters["HEADS"]
        self.leaves = []
        self.p = self.converted(initial(characters))
        self.batches = characters["batches"](np.random.default_rng(0))

    def converted(self, tree):
        if isinstance(tree, dict):
            return {name: self.converted(part) for name, part in tree.items()}
        if isinstance(tree, list):
            return [self.converted(part) for part in tree]
        self.leaves.append(self.torch.tensor(tree, requires_grad=True))
        return self.leaves[-1]

    def linear(self, x, p):
        return self.torch.nn.functional.linear(x, p["weight"].T, p["bias"])

    def norm(self, x, p):
        return self.torch.nn.functional.layer_norm(x, x.shape[-1:], p["weight"], p["bias"])

    def loss(self, tokens, following):
        functional, p = self.torch.nn.functional, self.p
        x = functional.embedding(tokens, p["characters"]) + p["positions"]
        for block in p["blocks"]:
            parts = self.linear(self.norm(x, block["before_attention"]), block["queries_keys_values"]).chunk(3, dim=-1)
            q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
            seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.linear(seen.transpose(1, 2).flatten(2), block["attended"])
            wide = functional.gelu(self.linear(self.norm(x, block["before_network"]), block["wide"]))
            x = x + self.linear(wide, block["narrow"])
        logits = self.linear(self.norm(x, p["at_the_end"]), p["logits"])
        return functional.cross_entropy(logits.flatten(0, 1), following.flatten())

    def losses(self, optimiser):
        stepping = getattr(self.torch.optim, optimiser)(self.leaves, lr=RATES[optimiser])
        values = []
        for _, batch in zip(range(STEPS), self.batches, strict=False):
            stepping.zero_grad()
            loss = self.loss(*map(self.torch.tensor, batch))
            loss.backward()
            stepping.step()
            values.append(loss.item())
        return values


@pytest.mark.peers("torch")
@pytest.mark.parametrize("optimiser", RATES)
def test_the_loss_of_a_transformer_falls_as_in_pytorch(characters, optimiser):
    ours, theirs = losses(characters, optimiser), InTorch(characters).losses(optimiser)
    assert len(ours) == STEPS
    assert ours == pytest.approx(theirs, rel=TOLERANCE)
    assert np.mean(ours[-3:]) < 0.8 * np.mean(ours[:3])


# Gradient descent, because Adam does not see a gradient that is wrong by a factor.
@pytest.mark.parametrize(
    "name",
    ["embedding", "gelu", "layer_norm", "matmul", "scaled_dot_product_attention", "softmax_cross_entropy"],
)
@pytest.mark.peers("torch")
def test_a_gradient_that_is_a_thousandth_off_is_found(characters, monkeypatch, name):
    rule = PRIMITIVES[name].vjp
    monkeypatch.setattr(PRIMITIVES[name], "vjp", lambda i, g: rule(i, g * 1.001))
    ours, theirs = losses(characters, "SGD"), InTorch(characters).losses("SGD")
    assert ours[0] == pytest.approx(theirs[0], rel=TOLERANCE)
    assert ours[1:] != pytest.approx(theirs[1:], rel=TOLERANCE)


@pytest.mark.slow
def test_the_text_is_learnt(characters):
    p = initial(characters)
    values = list(characters["train"](p, characters["Adam"](p, RATES["Adam"]), 300))
    assert np.mean(values[-10:]) < 0.3 * values[0]
    assert set(characters["continued"](p, "In the ", 5)) <= set(characters["ALPHABET"])
