"""The process in which a function of ours loads what users wrote. Reads a request, writes a reply."""

import importlib

import msgspec

from gradmark.errors import GradmarkError
from gradmark.isolation import inside
from gradmark.isolation.calling import Reply, Request


def main() -> None:
    """One request in, one reply out."""
    requests, answers = inside.private_streams()
    inside.adopt_orphans()
    request = msgspec.json.decode(requests.read(), type=Request)
    inside.limit_memory(request.memory_limit_bytes)
    module, _, name = request.function.partition(":")
    function = getattr(importlib.import_module(module), name)
    encode, leave = msgspec.json.encode, inside.leave  # before the user's code can put something else in their place
    try:
        reply = Reply(result=function(request.argument))
    except GradmarkError as error:
        reply = Reply(error=type(error).__name__, message=str(error))
    leave(answers, encode(reply))


if __name__ == "__main__":
    main()
