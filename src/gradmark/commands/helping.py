"""How `--help` looks: options in groups, and examples that can be typed as they stand.

In: a command's parameters and its examples. Out: the help text. `cls=Verb` or `cls=VerbGroup` gives a command both.
"""

from collections.abc import Sequence
from typing import Any

import click

# Heading: the options below it, by parameter name. Whatever stands nowhere here comes last, under "Other options".
GROUPS: dict[str, tuple[str, ...]] = {
    "What to measure": ("engines", "keyword", "dtypes", "devices", "derivatives", "file", "against", "times", "verbs"),
    "How to measure": (
        *("quick", "processes", "pairs", "budgets", "memory", "instructions", "seed", "threads"),
        *("timeout", "memory_limit", "pin", "huge_pages", "data"),
    ),
    "Other machines": ("fleet", "on", "each_class"),
    "Output": ("form", "output", "json_file", "html_file", "medians", "as_json", "dry_run", "show"),
    "Kept runs": ("store", "resume", "trust"),
}
OTHER = "Other options"
# So many options are found at a glance: groups would only pull them apart.
FEW = 9


class Helpful(click.Command):
    """A command with examples, whose options are shown in groups."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        self.examples = list(examples)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options under the headings of GROUPS; a command with few of them has one list."""
        headings = {name: heading for heading, names in GROUPS.items() for name in names}
        groups: dict[str, list[tuple[str, str]]] = {heading: [] for heading in [*GROUPS, OTHER]}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)) is not None:
                groups[headings.get(parameter.name or "", OTHER)].append(record)
        if sum(map(len, groups.values())) <= FEW:
            groups = {"Options": [record for records in groups.values() for record in records]}
        for heading, records in groups.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, one on each line."""
        super().format_epilog(ctx, formatter)
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"{'':{formatter.current_indent}}{example}\n")


class Verb(Helpful):
    """A verb."""


class VerbGroup(Helpful, click.Group):
    """A verb that has verbs of its own."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options, then the commands of the group."""
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)
