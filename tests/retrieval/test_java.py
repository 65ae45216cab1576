"""Java: what it is given, and what it throws."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from factseek.retrieval.errors import ConfigError, IndexStateError
from factseek.retrieval.java import (
    check_heap,
    guarded,
    java_cast,
    java_class,
    java_thread,
    java_version,
    own_class,
    start,
)

pytestmark = pytest.mark.inner

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


def test_a_receiver_is_a_threads_own() -> None:
    start()
    signatures = {"toString": "()Ljava/lang/String;"}

    def builder(text: str) -> Any:
        shared = java_class("java.lang.StringBuilder")(text)
        return shared, java_cast(own_class("java.lang.StringBuilder", signatures), shared)

    def other() -> str:
        with java_thread():
            shared, own = builder("other")
            _ = shared.toString
            said: str = own.toString()
            return said

    shared, own = builder("mine")
    of_shared, of_own = shared.toString, own.toString
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(other).result() == "other"
    assert of_own() == "mine"
    assert of_shared() == "other", "pyjnius binds receivers now: own_class has become needless"


def test_a_thread_that_used_no_java_starts_none(root: Path) -> None:
    script = (
        "import jnius_config\n"
        "from factseek.retrieval.java import java_thread\n"
        "with java_thread():\n"
        "    pass\n"
        "print(jnius_config.vm_running)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
