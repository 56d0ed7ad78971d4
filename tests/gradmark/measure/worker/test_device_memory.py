"""The memory of a device, on one that is made up: what is counted is what its allocator did."""

import pytest

from gradmark.engines.protocol import DeviceMemory
from gradmark.measure.worker.device_memory import measure


class Allocator:
    """A device whose arrays are numbers of bytes."""

    def __init__(self):
        self.alive = self.peak = self.made = 0
        self.alive = 1000  # of others

    def take(self, size):
        self.alive += size
        self.made += 1
        self.peak = max(self.peak, self.alive)

    def give(self, size):
        self.alive -= size

    def counters(self):
        def reset():
            self.peak = self.alive

        return DeviceMemory(
            alive_bytes=lambda: self.alive,
            reset_peak=reset,
            peak_bytes=lambda: self.peak,
            allocations=lambda: self.made,
        )


class Recording:
    """Forward takes 300 bytes and keeps 100, backward needs 50 more; what is left behind grows by the leak."""

    def __init__(self, device, leak):
        self.device, self.leak, self.held = device, leak, 0

    def forward(self):
        self.device.give(self.held)
        self.device.take(300)
        self.device.give(200)
        self.held = 100
        if self.leak:
            self.device.take(self.leak)

    def backward(self):
        self.device.take(50)
        self.device.give(50)

    def __del__(self):
        self.device.give(self.held)


@pytest.mark.parametrize("leak", [0, 8])
def test_counters_become_a_record(leak):
    device = Allocator()

    def make():
        session = Recording(device, leak)
        return (session.forward, session.backward)

    def record():
        return (Recording(device, leak).forward,)

    found = measure(device.counters(), make, record, lambda: None)
    assert (found.allocations, found.leaked_bytes) == (3.0 if leak else 2.0, float(leak))
    assert (found.peak_bytes, found.retained_bytes) == (300, 100 + leak)
    assert found.of_device
    assert found.reason is None
