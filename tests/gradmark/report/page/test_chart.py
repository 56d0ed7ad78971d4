from gradmark.report.page.chart import BELOW, FARTHEST, NOTHING, ZERO, letters, short


def test_four_digits_are_kept() -> None:
    assert [short(number) for number in (1234.5, 99995.1, 0.123456, 7.77777e9)] == [1234, 100000, 0.1235, 7778000000]


def test_every_number_has_a_letter_of_its_own_that_is_text() -> None:
    numbers = range(-999, FARTHEST + 1)
    written = letters(numbers)
    assert len(set(written) | {NOTHING}) == len(numbers) + 1
    assert all(ord(letter) >= 32 for letter in written)
    assert written.encode().decode() == written
    assert [ord(one) - BELOW if ord(one) > BELOW - 1000 else ord(one) - ZERO for one in written] == list(numbers)


def test_what_is_too_large_is_the_largest() -> None:
    assert letters([FARTHEST, FARTHEST + 1, 10**9]) == 3 * chr(ZERO + FARTHEST)
