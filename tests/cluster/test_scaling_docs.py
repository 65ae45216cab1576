"""The example of docs/guides/scale.md: a node is killed under load."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.deep
ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 900.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def test_the_answer_goes_on_when_a_node_is_killed(tmp_path: Path) -> None:
    if find_spec("ray") is None:
        pytest.skip("needs the extra ray")
    script = (ROOT / "examples" / "killed_node.sh").read_text("utf-8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.Popen(
        ["bash", "-e", "-c", script.replace("8000", str(free_port()))],
        cwd=tmp_path,
        env={**os.environ, "PATH": programs},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=PATIENCE)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
    assert "200 answers, 1 different\n" in output, output
    assert "6 replicas stopped" in output, output
    assert process.returncode == 0, output
    assert "replica 1: node " in output
    assert '"status":"ok"' in (tmp_path / "ready.json").read_text()
