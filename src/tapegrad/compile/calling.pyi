from typing import Any

def address(array: Any) -> int: ...

class Leaf:
    def __init__(self, kind: int, dtype: Any, shape: tuple[int, ...], constant: Any, slot: int) -> None: ...

class Result:
    def __init__(self, dtype: Any, shape: Any, slot: int, number: int, guests: tuple[tuple[int, int], ...]) -> None: ...

class Entry:
    busy: bool
    def __init__(
        self,
        function: int,
        table: int,
        numbers: int,
        arguments: Any,
        results: Any,
        checks: Any,
        error: Any,
        keep: Any,
    ) -> None: ...
    def call(self, args: tuple[Any, ...]) -> Any: ...
