"""The errors: one base, so that the command line shows each without a traceback."""

import inspect

import gradmark
from gradmark import errors


def test_all_have_one_base():
    classes = [value for value in vars(errors).values() if inspect.isclass(value)]
    assert len(classes) == 21
    assert all(issubclass(value, errors.GradmarkError) for value in classes)


def test_those_that_users_raise_or_catch_are_public():
    assert gradmark.GradmarkError is errors.GradmarkError
    assert gradmark.UnsupportedError is errors.UnsupportedError
