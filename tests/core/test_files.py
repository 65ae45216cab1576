"""Files, errors and progress: what the file system or the terminal refuses is one line."""

import errno
import os
import sys
from pathlib import Path

import pytest

from factseek.core import languages
from factseek.core.errors import MachineError, QueryError
from factseek.core.files import check_distinct, os_errors_reported, writable, write_atomically
from factseek.core.progress import Lines, bar

REFUSED = [
    (errno.ENOSPC, "the disk is full; make room and run the same command again"),
    (errno.EACCES, "cannot be written: Permission denied"),
    (errno.ENOTDIR, "is not a folder; give another path"),
    (errno.EIO, "Input/output error"),
]


@pytest.mark.parametrize(("number", "message"), REFUSED)
def test_what_the_file_system_refuses_is_one_line(number: int, message: str) -> None:
    with pytest.raises(MachineError) as error, os_errors_reported(Path("ix")):
        raise OSError(number, os.strerror(number))
    assert str(error.value) == f"ix: {message}"


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY\x01\x00v"])
def test_a_damaged_copy_of_the_language_model_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    model = [array.tobytes() for array in languages._model.__wrapped__()]
    for copy in tmp_path.glob("factseek/languages/*/*"):
        copy.write_bytes(content)
    assert [array.tobytes() for array in languages._model.__wrapped__()] == model


def test_a_file_that_cannot_be_replaced_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(MachineError, match=r"file"):
        write_atomically(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_link_stays_and_leads_to_the_new_content(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    (tmp_path / "link").symlink_to("old")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "old").read_bytes() == b"new"
    (tmp_path / "loop").symlink_to("loop")
    write_atomically(tmp_path / "loop", b"new")
    assert (tmp_path / "loop").read_bytes() == b"new"
    with pytest.raises(QueryError, match="is also another result of this command"):
        check_distinct([tmp_path / "old", tmp_path / "link"])


def test_an_output_that_would_destroy_something_is_refused(tmp_path: Path) -> None:
    read = tmp_path / "read"
    read.write_text("x")
    (tmp_path / "link").symlink_to(read)
    refused = {
        tmp_path: "is a folder; give a file",
        Path("/dev/null"): "is not a regular file; give a regular file or a new file",
        read: "is an input of this command and would be overwritten; give another file",
        tmp_path
        / "link": "is an input of this command and would be overwritten; give another file",
    }
    for path, reason in refused.items():
        with pytest.raises(QueryError) as error:
            writable(path, [tmp_path / "none", read])
        assert str(error.value) == f"{path}: {reason}"
    writable(tmp_path / "new", [read])
    assert not (tmp_path / "new").exists()
    writable(read, [tmp_path / "none"])


def test_a_line_every_ten_seconds() -> None:
    now, lines = [100.0], list[str]()
    progress = Lines("encoding", "passage", 12_000, clock=lambda: now[0], write=lines.append)
    for second in range(1, 26):
        now[0] = 100.0 + second
        progress.update(400)
    progress.close()
    assert lines == [
        "encoding: 4,000 of 12,000 passages in 10 s\n",
        "encoding: 8,000 of 12,000 passages in 20 s\n",
    ]


def test_a_log_gets_lines_and_a_terminal_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(bar("reading", "document", 3), Lines)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    running = bar("reading", "document", 3)
    running.close()
    assert not isinstance(running, Lines)


def test_missing_folders_of_an_output_are_made(tmp_path: Path) -> None:
    writable(tmp_path / "a" / "b" / "file")
    assert list((tmp_path / "a" / "b").iterdir()) == []
    (tmp_path / "file").write_text("x")
    with pytest.raises(MachineError) as error:
        writable(tmp_path / "file" / "run")
    assert str(error.value).startswith(f"{tmp_path}/file: ")
