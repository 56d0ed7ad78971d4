"""Budgets: what is within them."""

import pytest

from gradmark.records import Budget


@pytest.mark.parametrize(
    ("budget", "before", "limit", "text"),
    [
        (Budget(), 7.0, 7.0, "0"),
        (Budget(share=0.05), 100.0, 105.0, "5%"),
        (Budget(added=3.0), 100.0, 103.0, "3"),
        (Budget(factor=10.0), 1e-16, 1e-15, "10x"),
        (Budget(share=0.01), 0.0, 0.0, "1%"),
    ],
)
def test_the_limit(budget, before, limit, text):
    assert budget.limit(before) == limit
    assert str(budget) == text
