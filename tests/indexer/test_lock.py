"""The writer's lock: one holder, who is named; others wait or are told; a dead one leaves nothing
behind.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from factseek import commands
from factseek.core.errors import IndexStateError
from factseek.indexer.lock import locked
from tests.indexer.test_compaction import DOCUMENTS, write

HOLD = """
import sys, time
from pathlib import Path
from factseek.indexer.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@contextmanager
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


def test_the_holder_is_named_and_a_dead_one_is_followed(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        with pytest.raises(IndexStateError) as error, locked(tmp_path):
            pass
        host = re.escape(socket.gethostname())
        said = rf"{tmp_path}: is being written by process {process.pid} on {host} since 20\S+Z; "
        assert re.fullmatch(said + "try again later, or use --wait", str(error.value))
        process.send_signal(signal.SIGKILL)
        process.wait()
        with locked(tmp_path):
            assert str(os.getpid()) in (tmp_path / "lock").read_text("utf-8")


def test_the_commands_wait(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, index = write(tmp_path, "docs.jsonl", DOCUMENTS[:4]), tmp_path / "index"
    assert commands.main(["index", "jsonl", str(source), "--index", str(index), "--no-dense"]) == 0
    with holder(index) as process:
        for command in (["delete", "d1"], ["compact"], ["verify-index", "--repair"]):
            capsys.readouterr()
            assert commands.main([*command, "--index", str(index)]) == 2
            assert f"is being written by process {process.pid} on" in capsys.readouterr().err
        assert commands.main(["verify-index", "--index", str(index)]) == 0
        assert commands.main(["search", "measles", "--index", str(index)]) == 0
        timer = threading.Timer(0.3, process.kill)
        timer.start()
        assert commands.main(["delete", "d1", "--index", str(index), "--wait", "30"]) == 0
        timer.join()
