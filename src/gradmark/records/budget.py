"""The budget: how much worse a metric may get."""

from gradmark.records.record import Record


class Budget(Record, frozen=True, kw_only=True):
    """How much more than before is allowed: a share, a number, a time, a share and a time, or a factor."""

    share: float = 0.0
    added: float = 0.0
    added_ns: float = 0.0
    factor: float = 0.0

    def limit(self, before: float) -> float:
        """The largest number that is within the budget."""
        return max(before * (1.0 + self.share) + self.added + self.added_ns, before * self.factor)

    def __str__(self) -> str:
        if self.factor:
            return f"{self.factor:g}x"
        share = f"{100 * self.share:g}%" if self.share else ""
        time = f"{self.added_ns / 1e6:g}ms" if self.added_ns else ""
        return " + ".join(filter(None, [share, time])) or f"{self.added:g}"
