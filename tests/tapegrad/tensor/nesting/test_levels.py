"""Levels of transforms, in one thread and in several."""

import threading

import numpy as np
import pytest

import tapegrad
from tapegrad import Tensor, tensor
from tapegrad.tensor.differentiate import hvp_of, jvp_of
from tapegrad.tensor.nesting.levels import Level, depth, floor, switches

X = np.linspace(0.1, 1.0, 5)


def test_a_level_opened_later_has_a_larger_number():
    with Level() as outer, Level() as inner:
        assert inner > outer
        assert depth() == 2
        assert switches.open >= 2
    assert depth() == 0


def test_errors_close_levels():
    before = switches.open
    for transform in (
        lambda f: tapegrad.grad(f)(X),
        lambda f: jvp_of(f, (X,), (0,), (X,)),
        lambda f: hvp_of(f, (X,), (0,), (X,)),
        lambda f: tapegrad.jacobian(f)(X),
    ):
        with pytest.raises(ZeroDivisionError):
            transform(lambda x: 1 / 0)
    assert switches.open == before
    assert depth() == 0


def test_no_grad_reaches_the_levels_that_are_open():
    assert floor() == -1
    with Level() as outer:
        with tapegrad.no_grad():
            assert floor() == outer
            with Level() as inner:
                assert inner > floor()
        assert floor() == -1


def test_transforms_of_several_threads_do_not_meet():
    results, barrier = {}, threading.Barrier(4)

    def work(k):
        def f(x):
            barrier.wait()
            return (tensor.sin(x) * (k + 1)).sum()

        results[k] = hvp_of(f, (X,), (0,), (np.ones(5),))[1][0]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        assert results[k] == pytest.approx(-np.sin(X) * (k + 1), rel=1e-14)


def test_a_transform_in_a_thread_that_an_outer_one_started():
    """Its level is its own, although no transform is open in that thread."""

    def f(x):
        found = []
        thread = threading.Thread(target=lambda: found.append(tapegrad.grad(lambda y: (y * x).sum())(np.ones(5))))
        thread.start()
        thread.join()
        return (found[0] * x).sum()

    assert tapegrad.grad(f)(X) == pytest.approx(2 * X)


def test_eager_tensors_record_while_another_thread_differentiates():
    inside, done = threading.Event(), threading.Event()

    def f(x):
        inside.set()
        done.wait()
        return x.sum()

    thread = threading.Thread(target=tapegrad.grad(f), args=(X,))
    thread.start()
    inside.wait()
    w = Tensor(X, requires_grad=True)
    (w * w).sum().backward()
    done.set()
    thread.join()
    assert w.grad.tolist() == (2 * X).tolist()
