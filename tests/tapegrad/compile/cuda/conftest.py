"""Kernels for CUDA without a GPU: on a device that runs them on the host."""

import shutil

import numpy as np
import pytest
from oracles import foreign

from tapegrad.compile import devices
from tapegrad.tensor import namespaces


@pytest.fixture
def device(monkeypatch):
    """A device whose arrays are foreign ones; NumPy's functions refuse them, so nothing can be copied to the host."""
    if shutil.which("g++") is None:
        pytest.skip("kernels are compiled for the host by g++, which is not installed")
    from oracles import hostdevice

    monkeypatch.setitem(namespaces.SPECIAL, "foreign", "oracles.foreign")
    monkeypatch.setattr(namespaces, "ON_DEVICES", {"cupy", "foreign"})
    monkeypatch.setitem(devices.LIBRARIES, "oracles", lambda _: hostdevice.HOST)
    monkeypatch.setattr(devices, "_known", {np.ndarray: None, float: None})
    hostdevice.HOST.launches = hostdevice.HOST.products = 0
    return hostdevice.HOST


@pytest.fixture
def there():
    """A function that puts NumPy's arrays on the device."""
    return lambda *arrays: [foreign.foreign(np.asarray(array)) for array in arrays]
