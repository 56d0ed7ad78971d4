"""The command `gradmark`. Verbs are imported when they are used, so that `--help` answers at once."""

import contextlib
import importlib
import io
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

from gradmark import requirements

try:
    import click

    from gradmark.commands import terminal
    from gradmark.errors import GradmarkError
except ModuleNotFoundError as error:  # Python would end with 1, which is a verdict
    if not requirements.lacking(error):
        raise
    sys.stderr.write(f"gradmark: {requirements.advice(requirements.lacking(error))}\n")
    sys.exit(2)

# verb: what it is for; the file of the same name has the command
VERBS = {
    "run": "Measure engines, print a table, save the run.",
    "compare": "Compare two runs, row by row.",
    "scale": "Measure how cost grows with size.",
    "contract": "Test an engine against four promises.",
    "hypothesis": "Test a performance claim.",
    "ops": "Measure every operation by itself.",
    "explain": "Explain one derivative, and where each engine's time goes.",
    "baseline": "Update or show the numbers that must not get worse.",
    "check": "Compare with the baseline; fail if anything got worse.",
    "audit": "Plant known faults and show that the gate catches them.",
    "history": "Show how results changed from run to run.",
    "report": "Write a self-contained HTML page about one or more runs.",
    "store": "Keep runs in a database: init, copy, check.",
    "list": "List workloads, engines and runs.",
    "fleet": "Measure on other machines: start a worker, show the fleet.",
    "doctor": "Check whether this machine is fit to measure on.",
}


class Verbs(click.Group):
    """A group whose commands are looked up by name in this folder."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """All verbs, in the order in which they are useful."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of a verb, imported now."""
        if name not in VERBS:
            import difflib

            near = difflib.get_close_matches(name, VERBS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"choose from: {', '.join(VERBS)}"
            raise click.UsageError(f"no command is called {name!r}; {hint}", ctx)
        module = importlib.import_module(f"gradmark.commands.{name}")
        command: click.Command = module.command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Calls the command. Whether somebody reads on is no verdict; click would end with 1."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise Unread from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list of verbs in the help text, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gradmark")
def gradmark() -> None:
    """A benchmark laboratory for automatic-differentiation engines."""


class Unread(Exception):  # noqa: N818  nothing is wrong
    """Whoever read what is printed has seen enough, as `| head` has."""


class Terminated(KeyboardInterrupt):
    """SIGTERM came: a batch system or a CI server ends a job. It is an interruption like any other."""


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """While it lasts SIGTERM interrupts, so that workers end and the advice on how to go on is given."""

    def interrupt(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one ends the process at once
        raise Terminated

    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def main(arguments: list[str] | None = None) -> Any:
    """The entry point.

    Exit codes: 0 pass, 1 fail, 2 wrong usage, 3 inconclusive, 130 interrupted, 141 nobody reads on, 143 terminated.
    Python and click end with 1 where something happens that was not foreseen; here that is a verdict.
    """
    terminal.ready()
    try:
        with _terminable():
            return gradmark.main(args=arguments, prog_name="gradmark", standalone_mode=False)
    except click.exceptions.Abort as error:
        terminal.say_error(str(error) or "interrupted")
        sys.exit(143 if isinstance(error.__cause__, Terminated) else 130)
    except click.exceptions.NoArgsIsHelpError as error:
        terminal.say(error.format_message(), err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        shown, message = io.StringIO(), f"Error: {error.format_message()}"
        error.show(shown)
        for line in shown.getvalue().removesuffix(f"{message}\n").splitlines():
            terminal.say(line, err=True)
        terminal.say_error(message)
        sys.exit(error.exit_code)
    except GradmarkError as error:
        terminal.say_error(f"gradmark: {error}")
        sys.exit(2)
    except Unread:
        terminal.silence()
        sys.exit(141)
    except Exception as error:
        if package := requirements.lacking(error):
            terminal.say_error(f"gradmark: {requirements.advice(package)}")
            sys.exit(2)
        import traceback

        with contextlib.suppress(OSError):
            traceback.print_exc()  # a fault of ours: whoever reports it needs all of it
        sys.exit(2)


if __name__ == "__main__":
    main()
