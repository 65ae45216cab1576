"""The files of the metrics where there is no room for them: counts are lost, no process ends, and all is answered."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FILLED = """
import os, sys
from pathlib import Path
folder, filler = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]), Path(sys.argv[1])
from factseek.server.upkeep.metrics import Metrics
early = Metrics()
if sys.argv[2] == "later":
    early.requests("GET", "/", 200).inc()
with filler.open("wb", buffering=0) as file:
    try:
        while True:
            file.write(b"x" * 4096)
    except OSError:
        pass
for number in range(3000):
    early.requests("GET", f"/{number}", 200).inc()
    early.seconds(f"/{number}").observe(0.1)
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
registry = CollectorRegistry()
MultiProcessCollector(registry)
print('route="/"' in generate_latest(registry).decode())
"""

NO_FOLDER = """
import os, tempfile
tempfile.tempdir = os.environ["TMPDIR"]
from factseek.server.upkeep.metrics_folder import share, unshare
shared = share()
print(shared and shared.folder.parent)
from factseek.server.upkeep.metrics import Metrics
Metrics().requests("GET", "/", 200).inc()
unshare(shared)
"""

SERVED = """
import subprocess, sys, urllib.request
command = [sys.executable, "-m", "factseek", "serve", "--index", f"english={sys.argv[1]}", "--port", "0"]
with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
    address = next((line.split()[-1] for line in server.stderr if "serves" in line), "")
    try:
        answers = [urllib.request.urlopen(address + path, timeout=30).status for path in ("/livez", "/?query=measles")]
    finally:
        server.terminate()
print(answers)
"""


@pytest.mark.parametrize(("when", "counted"), [("before", "False"), ("later", "True")])
def test_a_full_file_system_loses_counts_and_ends_nothing(tmp_path: Path, when: str, counted: str) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    script = tmp_path / "filled.py"
    script.write_text(FILLED)
    done = apart(
        f"mount -t tmpfs -o size=512k none {folder} || exit 77; "
        f"PROMETHEUS_MULTIPROC_DIR={folder} exec {sys.executable} {script} {folder}/filler {when}"
    )
    assert (done.returncode, done.stdout.strip()) == (0, counted), done.stderr


@pytest.mark.parametrize("memory", ["-o nr_inodes=1", "-o ro"])
@pytest.mark.parametrize("elsewhere", [True, False])
def test_where_memory_takes_no_folder_another_does_or_each_worker_counts_alone(
    tmp_path: Path, memory: str, elsewhere: bool
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    script = tmp_path / "no_folder.py"
    script.write_text(NO_FOLDER)
    full = "" if elsewhere else f"mount -t tmpfs -o nr_inodes=1 none {temporary}; "
    done = apart(
        f"mount -t tmpfs {memory} none /dev/shm || exit 77; {full}"
        f"cd /dev/shm; TMPDIR={temporary} exec {sys.executable} {script}"
    )
    assert (done.returncode, done.stdout.strip()) == (0, str(temporary) if elsewhere else "None"), done.stderr


@pytest.mark.parametrize("memory", ["nr_inodes=1", "ro"])
def test_a_server_answers_where_memory_takes_no_file(tmp_path: Path, folders: dict[str, Path], memory: str) -> None:
    script = tmp_path / "served.py"
    script.write_text(SERVED)
    mounted = f"mount -t tmpfs -o {memory} none /dev/shm || exit 77"
    done = apart(f"{mounted}; exec {sys.executable} {script} {folders['english']}")
    assert (done.returncode, done.stdout.strip()) == (0, "[200, 200]"), done.stderr


def apart(command: str) -> subprocess.CompletedProcess[str]:
    """Run a shell command that mounts small file systems in a namespace of its own."""
    unshare = shutil.which("unshare")
    if os.getuid() or not unshare:
        pytest.skip("only root may mount a small file system in a namespace of its own")
    done = subprocess.run(
        [unshare, "-m", "sh", "-c", command], check=False, capture_output=True, text=True, timeout=120
    )
    if done.returncode == 77 or "unshare:" in done.stderr:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    return done
