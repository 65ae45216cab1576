"""The documentation's requests and answers, against a server of the example."""

import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote
from urllib.request import urlopen

import pytest
import yaml

from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.encoders.cross_encoder import OnnxCrossEncoder
from factseek.retrieval.stages.rerank import RerankSettings
from factseek.server.adapters import ADAPTERS
from factseek.server.auth import digest
from factseek.server.page.routes import EXAMPLES
from factseek.settings import Config
from tests.server.ending import end
from tests.small_models import small_cross_encoder

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = "http://127.0.0.1:8000"
CHANGING = "http://127.0.0.1:8001"
"""The server of the documentation that takes changes; its index ``mine`` is a copy of the English
example.
"""
SPEAKING = "http://127.0.0.1:8002"
"""The server of the documentation that speaks other protocols, of the same indexes."""
CHECKED = "http://127.0.0.1:8003"
"""The server of the documentation that answers from an index of reviews."""
KEY = "fs_a-key-of-the-tests"
JOB = re.compile(r"(?<=/v1/jobs/)[0-9a-f]{24}")
PATIENCE = 180.0
VARIES = [
    (r'("request_id": ?)"[^"]*"', r'\1"…"'),
    (r'("nextPageToken": ?)"[^"]*"', r'\1"…"'),
    (r'("(?:manifest_)?id": ?)"[0-9a-f]{16}(?:[0-9a-f]{8})?"', r'\1"…"'),
    (r'("version": ?)"\d+\.\d+\.\d+"', r'\1"…"'),
    (r'("created_at": ?)"[^"]*"', r'\1"…"'),
    (JOB.pattern, "…"),
    (r'("(?:created|started|ended|python|bytes|\w+_seconds)": ?)("[^"]*"|[\d.]+)', r"\1…"),
    (r'("cursor": ?)"[^"]*"', r'\1"…"'),
    (r'("sha256": ?)"[0-9a-f]*"', r'\1"…"'),
    (r'(manifest=)"[0-9a-f]{16}"', r'\1"…"'),
]


class Shown(NamedTuple):
    command: str
    output: str


def shown(text: str) -> list[Shown]:
    found = []
    for block in BLOCK.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = part.splitlines(keepends=True)
            end = next(at for at, line in enumerate(lines) if not line.endswith("\\\n")) + 1
            found.append(Shown("".join(lines[:end]).rstrip("\n"), "".join(lines[end:])))
    return [one for one in found if one.command.startswith("curl ")]


def plain(output: str) -> str:
    for pattern, instead in VARIES:
        output = re.sub(pattern, instead, output)
    return re.sub(
        r'"took_ms": ?{[^}]*}', lambda found: re.sub(r"\d+\.\d+", "…", found[0]), output
    ).strip()


def near(now: str, then: str) -> bool:
    number = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
    pairs = zip(number.findall(now), number.findall(then), strict=False)
    return number.sub("#", now) == number.sub("#", then) and all(
        math.isclose(float(one), float(other), rel_tol=0.05, abs_tol=0.01) for one, other in pairs
    )


Addresses = dict[str, str]
"""Of each server that the documentation speaks of, where it is."""


def answers(commands: list[Shown], addresses: Addresses) -> Iterator[tuple[Shown, str]]:
    """Yield each command with what it answers now; a job is the one that was made last, and has
    ended.
    """
    job = ""
    for one in commands:
        command = JOB.sub(job, one.command)
        now = ask(command, addresses)
        deadline = time.monotonic() + PATIENCE
        while (
            job
            and job in command
            and re.search(r'"(queued|running)"', now)
            and time.monotonic() < deadline
        ):
            time.sleep(0.1)
            now = ask(command, addresses)
        made = JOB.search(now)
        job = made[0] if made else job
        yield one, now


def ask(command: str, addresses: Addresses) -> str:
    for shown_at, address in addresses.items():
        command = command.replace(shown_at, address)
    done = subprocess.run(
        ["bash", "-c", command.replace("python3 -", f"{sys.executable} -")],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, "LC_ALL": "C", "KEY": KEY},
    )
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def changing(example_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    with served_to_be_changed(example_folder, tmp_path_factory.mktemp("changing")) as addresses:
        yield addresses


@contextmanager
def served_to_be_changed(example_folder: Path, folder: Path) -> Iterator[Addresses]:
    shutil.copytree(example_folder / "indexes" / "example-en", folder / "mine")
    server = {"keys": {"newsroom": digest(KEY)}, "indexes": {"mine": "mine"}, "write_seconds": 120}
    (folder / "config.yaml").write_text(yaml.safe_dump({"server": server}))
    with served(folder, folder / "log", "--allow-writes", "--adapter", "alegre") as address:
        yield {CHANGING: address}


@pytest.fixture(scope="module")
def speaking(example_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    model = small_cross_encoder()
    settings = yaml.safe_load((example_folder / "config.yaml").read_text("utf-8"))
    settings["rerank"] = {"model": str(model), "cache": str(model.parent / "cache")}
    OnnxCrossEncoder(RerankSettings(**settings["rerank"]))  # exported now: no request waits for it
    config = example_folder / "speaking.yaml"
    config.write_text(yaml.safe_dump(settings, sort_keys=False), "utf-8")
    options = [word for name in ADAPTERS.names() for word in ("--adapter", name)] + [
        "--config",
        str(config),
    ]
    with served(example_folder, tmp_path_factory.mktemp("speaking") / "log", *options) as address:
        yield {SPEAKING: address}


@pytest.fixture(scope="module")
def checked(example_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    folder = tmp_path_factory.mktemp("checked")
    reviews = example_folder / "examples" / "reviews-en.json"
    build(BuildRequest(kind="claimreview", sources=(reviews,), folder=folder / "index"), Config())
    with served(
        folder, folder / "log", "--index", f"checked={folder / 'index'}", "--adapter", "google"
    ) as address:
        yield {CHECKED: address}


@pytest.fixture(scope="module")
def address(example_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(example_folder, tmp_path_factory.mktemp("serve") / "log") as address:
        yield address


@contextmanager
def served(folder: Path, log: Path, *options: str) -> Iterator[str]:
    if not shutil.which("curl"):
        pytest.skip("there is no curl on this machine")
    command = [
        sys.executable,
        "-m",
        "factseek.server",
        "serve",
        "--port",
        "0",
        "--workers",
        "1",
        *options,
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command, cwd=folder, stderr=sink, env=environment, start_new_session=True
        )
    try:
        yield _address(process, log)
    finally:
        end(process)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if said := re.search(r" on (http://127\.0\.0\.1:\d+)\n", log.read_text()):
            return said[1]
        assert process.poll() is None, log.read_text()
        time.sleep(0.05)
    raise AssertionError(f"not started in {PATIENCE} s: {log.read_text()}")


@pytest.mark.real
@pytest.mark.parametrize("name", ["docs/guides/serve.md", "README.md"])
def test_the_documentation_shows_what_is_answered(
    address: str, changing: Addresses, name: str
) -> None:
    commands = shown((ROOT / name).read_text("utf-8"))
    assert commands
    for one, answered in answers(commands, {SHOWN: address, **changing}):
        now, then = plain(answered), plain(one.output)
        assert near(now, then), f"{one.command}\n{now}\n--- is shown as\n{then}"


@pytest.mark.real
def test_the_protocols_answer_as_shown(
    speaking: Addresses, example_folder: Path, tmp_path: Path
) -> None:
    text = (ROOT / "docs/guides/protocols.md").read_text("utf-8")
    assert all(f"`{name}`" in text for name in ADAPTERS.names())
    with served_to_be_changed(example_folder, tmp_path) as changing:
        for one, answered in answers(shown(text), {**speaking, **changing}):
            now, then = plain(answered), plain(one.output)
            assert near(now, then), f"{one.command}\n{now}\n--- is shown as\n{then}"


@pytest.mark.real
def test_what_was_checked_before_is_answered_as_shown(checked: Addresses) -> None:
    commands = shown((ROOT / "docs/guides/claims.md").read_text("utf-8"))
    assert len(commands) == 2
    for one, answered in answers(commands, checked):
        assert near(plain(answered), plain(one.output)), f"{one.command}\n{answered}"


@pytest.mark.real
@pytest.mark.parametrize(("index", "claim"), EXAMPLES)
def test_an_example_of_the_page_finds_its_evidence_first(
    address: str, index: str, claim: str
) -> None:
    language = index.removeprefix("example-")
    queries = [
        line.split("\t")
        for line in (ROOT / f"examples/queries-{language}.tsv").read_text("utf-8").splitlines()
    ]
    qid = next(qid for qid, text, *_ in queries if text == claim)
    judged = [
        line.split()
        for line in (ROOT / f"examples/qrels-{language}.txt").read_text("utf-8").splitlines()
    ]
    relevant = {docid for query, _, docid, grade in judged if query == qid and int(grade) > 0}
    with urlopen(
        f"{address}/?index={index}&query={quote(claim)}&view=side", timeout=PATIENCE
    ) as response:
        page = response.read().decode()
    firsts = re.findall(r'id="(\w+)-1"[^>]*>.*?href="/documents/[\w-]+/([^?"]+)', page, re.DOTALL)
    assert [column for column, _ in firsts] == ["bm25", "hybrid", "dense"]
    assert {docid for _, docid in firsts} <= relevant


def rewrite(addresses: Addresses, name: str) -> None:
    path = ROOT / name
    text, job = path.read_text("utf-8"), ""
    for one, answered in answers(shown(text), addresses):
        command, now = JOB.sub(job, one.command), answered.rstrip("\n")
        text = text.replace(
            f"$ {one.command}\n{one.output}", f"$ {command}\n" + (f"{now}\n" if now else "")
        )
        made = JOB.search(now)
        job = made[0] if made else job
    path.write_text(text, "utf-8")
