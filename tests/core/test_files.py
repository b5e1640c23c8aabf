"""A file is the old one or the new one at any moment, and on the disk before it takes the old one's place."""

import os

import pytest

from pyroclust.core.files import replace_file


def test_the_old_file_stays_until_the_new_one_is_on_the_disk(tmp_path, monkeypatch):
    path = tmp_path / "note.txt"
    path.write_bytes(b"old")
    flushed, seen = [], []
    monkeypatch.setattr(os, "fsync", lambda number: flushed.append(os.fstat(number).st_size))
    rename = os.replace

    def watched(source, target):
        seen.append((flushed.copy(), source.read_bytes(), target.read_bytes()))
        rename(source, target)

    monkeypatch.setattr(os, "replace", watched)
    replace_file(path, b"newer")
    assert seen == [([5], b"newer", b"old")]
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("note.txt", b"newer")]


def test_after_an_error_the_old_file_is_there_and_nothing_beside_it(tmp_path, monkeypatch):
    def full(number):
        raise OSError("no space left")

    path = tmp_path / "note.txt"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        replace_file(path, b"new")
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("note.txt", b"old")]
