"""Java: what it is given, and what it throws."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from retrieval.errors import ConfigError, IndexStateError
from retrieval.java import check_heap, guarded, java_class, java_version, start

MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20


@pytest.mark.parametrize("heap", ["32m", "512M", f"{MEMORY}m"])
def test_a_heap_that_there_is_room_for(heap: str) -> None:
    check_heap(heap)


@pytest.mark.parametrize("heap", ["31m", "1m", f"{MEMORY + 1}m", "999999g"])
def test_a_heap_that_java_would_end_the_process_for(heap: str) -> None:
    with pytest.raises(ConfigError) as error:
        check_heap(heap)
    assert str(error.value) == (f"java.heap: {heap} is out of range: give 32m to {MEMORY}m (this machine's memory)")


@pytest.mark.parametrize(
    ("release", "version"),
    [('JAVA_VERSION="21.0.8"\n', 21), ('X="1"\nJAVA_VERSION="17"\n', 17), ('JAVA_VERSION="1.8.0"', 1), ("", None)],
)
def test_the_version_of_a_java(tmp_path: Path, release: str, version: int | None) -> None:
    (tmp_path / "release").write_text(release)
    assert java_version(tmp_path) == version
    assert java_version(tmp_path / "gone") is None


def test_what_java_throws_is_one_line() -> None:
    start()
    parse = java_class("java.lang.Integer").parseInt
    with pytest.raises(IndexStateError) as error:
        guarded(lambda: parse("no\nnumber"), "ix", IndexStateError, "cannot be read ({})")
    assert str(error.value) == 'ix: cannot be read (NumberFormatException: For input string: "no)'
    assert guarded(lambda: parse("7"), "ix", IndexStateError) == 7
