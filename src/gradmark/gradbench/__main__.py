"""The program: answers messages on standard input, a line each, until there is none."""

import argparse
import sys

from gradmark.errors import GradmarkError
from gradmark.gradbench.served import serve
from gradmark.isolation import inside


def main() -> None:
    """`python -m gradmark.gradbench [-e ENGINE]`."""
    parser = argparse.ArgumentParser(
        prog="python -m gradmark.gradbench", description="Be a tool of GradBench: answer the messages of an eval."
    )
    parser.add_argument("-e", "--engine", default="tapegrad", help="Engine that answers. Default: tapegrad.")
    engine = parser.parse_args().engine
    lines, answers = inside.private_streams()  # what engines print goes to standard error
    try:
        serve(engine, lines, answers)
    except GradmarkError as error:
        sys.exit(f"gradmark.gradbench: {error}")
    except (BrokenPipeError, KeyboardInterrupt):
        sys.exit(1)


if __name__ == "__main__":
    main()
