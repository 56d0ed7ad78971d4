"""A small network learns which of two spirals a point belongs to: tensors, backward, and a step downhill."""

import itertools

import numpy as np

from tapegrad import Tensor, no_grad, tensor

WIDTHS = (2, 24, 24, 2)
STEPS = 400
RATE, MOMENTUM = 0.1, 0.9


def spirals(draw, count):
    """Points on two spirals that wind 1.5 times round each other, slightly off, and which spiral each is on."""
    labels = np.arange(count) % 2
    turn = np.sqrt(draw.uniform(0.02, 1.0, count))  # the root: outside, where a turn is longer, there are more points
    angle = 3 * np.pi * turn + np.pi * labels
    points = turn * np.array([np.cos(angle), np.sin(angle)])
    return points.T + draw.normal(scale=0.02, size=(count, 2)), labels


def network(draw):
    """Weights and biases of each layer."""
    return [
        (
            Tensor(draw.normal(size=(before, after)) * np.sqrt(2 / before), requires_grad=True),
            Tensor(np.zeros(after), requires_grad=True),
        )
        for before, after in itertools.pairwise(WIDTHS)
    ]


def logits(layers, points):
    """How much speaks for each spiral."""
    x = 3 * points  # the first layer then bends inside the spirals and not only outside
    for weight, bias in layers[:-1]:
        x = tensor.relu(x @ weight + bias)
    weight, bias = layers[-1]
    return x @ weight + bias


def accuracy(layers, points, labels):
    """The share of points that are put on the right spiral."""
    with no_grad():
        guesses = logits(layers, points).data.argmax(axis=-1)
    return (guesses == labels).mean()


def train(seed=0, report=print):
    """Trains on 400 points; gives the accuracy on 400 others."""
    draw = np.random.default_rng(seed)
    points, labels = spirals(draw, 400)
    others = spirals(draw, 400)
    layers = network(draw)
    parameters = [parameter for layer in layers for parameter in layer]
    speeds = [np.zeros(parameter.shape) for parameter in parameters]
    for step in range(STEPS + 1):
        loss = tensor.softmax_cross_entropy(logits(layers, points), labels)
        if step % 100 == 0:
            report(f"step {step:3}: loss {loss.item():.4f}, accuracy {accuracy(layers, *others):.1%}")
        loss.backward()
        for parameter, speed in zip(parameters, speeds, strict=True):
            speed *= MOMENTUM
            speed -= RATE * parameter.grad
            parameter.data += speed
            parameter.grad = None
    return accuracy(layers, *others)


if __name__ == "__main__":
    train()
