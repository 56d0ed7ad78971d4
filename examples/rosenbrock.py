"""Minimises the Rosenbrock function by gradient descent with momentum, on one reused tape and on a frozen program."""

import tapegrad


def rosenbrock(x, y):
    """Smallest, 0, at (1, 1), at the end of a curved valley."""
    return (1.0 - x) ** 2 + 100.0 * (y - x * x) ** 2


def descend(gradient, steps=5000, rate=2e-4, momentum=0.95):
    """Follows the gradient from (-1, 1)."""
    point, speed = [-1.0, 1.0], [0.0, 0.0]
    for _ in range(steps):
        slope = gradient(point)
        for k in range(2):
            speed[k] = momentum * speed[k] - rate * slope[k]
            point[k] += speed[k]
    return point


tape = tapegrad.Tape()


def recorded(point):
    """Records the function anew at each point; the tape's memory is reused."""
    tape.reset()
    x, y = tape.var(point[0]), tape.var(point[1])
    tape.backward(rosenbrock(x, y))
    return x.grad, y.grad


x, y = tape.var(0.0), tape.var(0.0)
program = tape.freeze([x, y], rosenbrock(x, y))


def replayed(point):
    """Replays what was recorded once."""
    return program.value_and_grad(point)[1]


if __name__ == "__main__":
    for name, gradient in (("recorded", recorded), ("replayed", replayed)):
        a, b = descend(gradient)
        print(f"{name}: ({a:.6f}, {b:.6f})")
