"""Ctrl-C at any moment of a command, its first imports too, ends it in one true line."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import ROOT

LINES = {
    "factseek: interrupted before anything was done\n",
    "factseek: interrupted\n",
    "factseek: interrupted; published data is intact\n",
    "factseek: interrupted; published data is intact, and the same command continues\n",
}
TELLS = """
import os, sys
def tell(event, arguments, descriptor=int(os.environ["BEGUN"])):
    if event == "import" and arguments[0] == "factseek.commands":
        os.write(descriptor, b"x")
sys.addaudithook(tell)
"""
"""What Python runs when it starts: says when factseek asks for its first module but those that hear
Ctrl-C.
"""
MOMENTS = 10


@pytest.fixture
def begins(tmp_path: Path) -> Path:
    (tmp_path / "sitecustomize.py").write_text(TELLS)
    return tmp_path


def interrupted(
    begins: Path, command: Sequence[str], after: float | None
) -> tuple[int, str, float]:
    reading, writing = os.pipe()
    process = subprocess.Popen(
        command,
        cwd=begins,
        env=os.environ
        | {"PYTHONPATH": f"{begins}:{ROOT / '.venv' / 'checkout'}", "BEGUN": str(writing)},
        pass_fds=[writing],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # No threads here.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    os.close(writing)
    assert select.select([reading], [], [], 60)[0]
    began = time.monotonic()
    if after is not None:
        time.sleep(after)
        process.send_signal(signal.SIGINT)
    stderr = process.communicate(timeout=60)[1]
    os.close(reading)
    return process.returncode, stderr, time.monotonic() - began


def check_every_moment(begins: Path, command: Sequence[str]) -> None:
    code, stderr, whole = interrupted(begins, command, None)
    assert (code, stderr) == (0, "")
    for moment in range(MOMENTS):
        after = 0.002 + whole * moment / MOMENTS
        code, stderr, _ = interrupted(begins, command, after)
        assert (code, stderr) == (0, "") or (code == 130 and stderr in LINES), (after, stderr)


@pytest.mark.deep
@pytest.mark.parametrize(
    "program",
    [[str(Path(sys.executable).with_name("factseek"))], [sys.executable, "-m", "factseek"]],
)
def test_ctrl_c_at_any_moment_is_one_line(begins: Path, program: list[str]) -> None:
    source = begins / "a.jsonl"
    source.write_text('{"docid": "a", "text": "The bridge was built in 1932."}\n')
    check_every_moment(
        begins,
        [*program, "index", "jsonl", str(source), "--overwrite", "--index", str(begins / "ix")],
    )


def test_ctrl_c_while_modules_are_imported_is_heard_when_they_are_there(begins: Path) -> None:
    (begins / "heavy.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nloaded = True\n"
    )
    script = (
        "import sys, time; from factseek.core.entry import enter\n"
        "def program():\n"
        "    try:\n"
        "        import heavy\n"
        "        print(heavy.loaded, flush=True)\n"
        "        time.sleep(30)\n"
        "    except KeyboardInterrupt:\n"
        "        print(sys.modules['heavy'].loaded, flush=True)\n"
        "        raise\n"
        "sys.exit(enter(lambda: program))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=begins,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ended.returncode, ended.stderr) == (130, "factseek: interrupted\n")
    assert ended.stdout.split()[-1] == "True"
