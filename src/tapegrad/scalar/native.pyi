from typing import final

@final
class Native:
    def __init__(
        self,
        address: int,
        code: object,
        inputs: int,
        values: int,
        slopes: int,
        weights: int,
        slots: int,
        lanes: int,
        points: int,
    ) -> None: ...
