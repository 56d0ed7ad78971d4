"""Graphs: captured for addresses that come again, and for no others."""

import numpy as np

import tapegrad
from tapegrad import tensor
from tapegrad.compile.cuda.replay import MOST_WASTED, Replay


def replay_of(compiled, args):
    return compiled._executable(tuple(args))[0].replay


def test_a_call_with_addresses_that_came_before_is_a_graph(device, there):
    def f(x, w):
        return tensor.sum(tensor.exp(x @ w)), tensor.sum(x, axis=0), tensor.sum(w, axis=1)

    compiled = tapegrad.jit(f)
    args = there(*(np.random.default_rng(k).normal(size=(96, 96)) for k in range(2)))
    expected = [np.asarray(part) for part in f(*(np.asarray(x.view(np.ndarray)) for x in args))]
    for _ in range(6):
        for got, wanted in zip(compiled(*args), expected, strict=True):
            np.testing.assert_allclose(got.view(np.ndarray), getattr(wanted, "data", wanted), rtol=1e-12)
    replay = replay_of(compiled, args)
    assert replay.captured >= 1
    assert replay.replayed >= 2
    before = replay.replayed
    others = there(*(np.random.default_rng(k).normal(size=(96, 96)) for k in range(2)))
    compiled(*others)
    assert replay.replayed == before  # other addresses: launched one by one


class Counting:
    """A device that counts what is queued, captured and launched."""

    def __init__(self):
        self.queued, self.graphs, self.launched = 0, 0, 0

    def stream(self):
        return 0

    def queue(self, stream):
        self.queued += 1

    def captured(self, queue):
        self.graphs += 1

        def launch():
            self.launched += 1

        return launch


def test_addresses_that_never_come_again_are_not_captured():
    device = Counting()
    replay = Replay(device, device.queue, 10)
    for k in range(100):
        replay(np.array([k]), np.zeros(1))
    assert (device.queued, device.graphs) == (100, 0)


def test_graphs_that_are_not_used_again_come_to_an_end():
    device = Counting()
    replay = Replay(device, device.queue, 10)
    for k in range(200):
        for _ in range(2):
            replay(np.array([k]), np.zeros(1))
    assert device.graphs == MOST_WASTED


def test_a_few_steps_are_quicker_by_themselves():
    device = Counting()
    replay = Replay(device, device.queue, 2)
    for _ in range(5):
        replay(np.zeros(1), np.zeros(1))
    assert (device.queued, device.graphs) == (5, 0)


def test_what_cannot_be_captured_is_not_tried_again():
    device = Counting()

    def fails(queue):
        raise RuntimeError("capture is not permitted")

    device.captured = fails
    replay = Replay(device, device.queue, 10)
    for _ in range(5):
        replay(np.zeros(1), np.zeros(1))
    assert device.queued == 5
