from gradmark.report.page.chart import short, shorts


def test_four_digits_are_kept_one_by_one_and_many_at_once() -> None:
    numbers = [1000.0, 1234.5, 99994.9, 99995.1, 123456.0, 7.77777e9]
    assert shorts(numbers) == [1000, 1234, 99990, 100000, 123500, 7778000000]
    assert shorts(numbers) == [short(number) for number in numbers]


def test_small_numbers_keep_their_fractions() -> None:
    assert shorts([0.123456, 999.96, 5000.0]) == [0.1235, 1000, 5000]
    assert shorts([]) == []
