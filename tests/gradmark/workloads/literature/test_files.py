"""Files of published inputs: `--data` reads them, and what is wrong with one is said with its line."""

import shutil

import numpy as np
import pytest

from gradmark.errors import InvalidWorkloadError
from gradmark.workloads.literature import files, gmm, hand_model, lstm
from gradmark.workloads.lookup import named


@pytest.fixture
def folder(tmp_path):
    """A copy of what comes with gradmark, that is read in its place."""
    copy = tmp_path / "data"
    shutil.copytree(files.OWN, copy)
    files.use(str(copy))
    yield copy
    files.use("")


def edited(path, edit):
    path.write_text("\n".join(edit(path.read_text().splitlines())) + "\n")


def test_a_folder_is_read_in_place_of_our_own(folder):
    path = folder / "gmm" / "test.txt"
    edited(path, lambda lines: [lines[0], "0.5", *lines[2:]])
    assert named("adbench_gmm")[0].draw(0, {"d": 2, "k": 3, "n": 1})[0] == 0.5
    files.use("")
    assert named("adbench_gmm")[0].draw(0, {"d": 2, "k": 3, "n": 1})[0] == -0.649014


def test_instances_are_found_in_folders_and_by_the_names_of_files(folder):
    (folder / "gmm" / "1k").mkdir()
    rows = ["2 5 1000", *["0.5"] * 5, *["1 2"] * 5, *["1 2 3"] * 5, *["0.25 0.75"] * 1000, "1 0"]
    (folder / "gmm" / "1k" / "gmm_d2_K5.txt").write_text("\n".join(rows))
    assert gmm.read(2, 5, 1000)[0][0].tolist() == [0.25, 0.75]
    (folder / "gmm" / "1k" / "gmm_d2_K5.txt").rename(folder / "gmm_1k_d2_K5.txt")
    files.use(str(folder))
    assert gmm.read(2, 5, 1000)[0].shape == (1000, 2)


def test_a_small_hand_is_not_taken_for_a_big_one(folder):
    big = folder / "hand" / "simple_big"
    shutil.copytree(folder / "hand" / "simple_small", big)
    edited(big / "hand1_t26_c100.txt", lambda lines: [lines[0], "7 1 2 3", *lines[2:]])
    files.use(str(folder))
    assert hand_model.read("small", 100, False)[1].which[0] == 132
    assert hand_model.read("big", 100, False)[1].points[0].tolist() == [1.0, 2.0, 3.0]


def test_a_size_that_was_never_published_is_generated(folder):
    assert np.array_equal(gmm.read(2, 5, 20)[1], gmm.generated(2, 5, 20)[1])
    assert lstm.read(2, 16)[3].shape == (16, lstm.BITS)


def test_a_file_that_is_missing(folder):
    (folder / "lstm" / "lstm_l2_c1024.txt").unlink()
    with pytest.raises(
        InvalidWorkloadError, match=r"expected a file that ends with 'lstm_l2_c1024.txt', got a folder w"
    ):
        lstm.read(2, 1024)


def test_a_file_that_is_truncated(folder):
    path = folder / "lstm" / "lstm_l2_c1024.txt"
    edited(path, lambda lines: lines[:500])
    with pytest.raises(
        InvalidWorkloadError, match=r"lstm_l2_c1024.txt, line 501: expected 14 numbers \(the bits of a ch"
    ):
        lstm.read(2, 1024)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda lines: ["3 3 1", *lines[1:]], r"line 1: expected d=2 K=3 n=1, got 3 3 1"),
        (lambda lines: ["2 3", *lines[1:]], r"line 1: expected 3 numbers \(the sizes d K n\), got 2"),
        (
            lambda lines: [*lines[:2], "one", *lines[3:]],
            r"line 3: expected numbers \(a weight\), got could not convert",
        ),
        (lambda lines: [*lines[:-1], "1 2"], r"line 12: expected gamma 1 and m 0, got 1 2"),
        (lambda lines: [*lines, "7"], r"line 13: expected the end of the file, got 1 more numbers"),
        (lambda lines: lines[:3], r"line 4: expected 1 numbers \(a weight\), got the end of the file"),
    ],
)
def test_a_file_with_something_else_in_it(folder, edit, message):
    edited(folder / "gmm" / "test.txt", edit)
    with pytest.raises(InvalidWorkloadError, match=message):
        gmm.read(2, 3, 1)


def test_a_hand_that_is_not_one(folder):
    edited(folder / "hand" / "model" / "bones.txt", lambda lines: lines[:-1])
    with pytest.raises(InvalidWorkloadError, match=r"bones.txt: expected 22 bones that hang on .* got 21"):
        hand_model.read_model(folder / "hand" / "model")


def test_a_point_of_a_vertex_that_the_model_does_not_have(folder):
    edited(folder / "hand" / "test.txt", lambda lines: [lines[0], "9999 0 0 0", *lines[2:]])
    with pytest.raises(InvalidWorkloadError, match="expected numbers of the 544 vertices of its model, got 9999"):
        hand_model.read("small", 2, False)


def test_text_that_is_none(folder):
    (folder / "gmm" / "test.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidWorkloadError, match=r"test\.txt cannot be read"):
        gmm.read(2, 3, 1)
