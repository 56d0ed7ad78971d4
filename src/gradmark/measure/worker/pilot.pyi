"""The pilots: short fixed work, compiled, that says how fast the machine is at the moment."""

CACHE_BYTES: int

def core() -> int: ...

class Memory:
    def __call__(self) -> int: ...
