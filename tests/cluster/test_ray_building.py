"""Shards that are built on a Ray cluster: the same bytes as without it, also when who builds them
dies.
"""

import hashlib
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from factseek.cluster.actors import builder
from factseek.cluster.build import build_here, build_shards
from factseek.commands import main
from factseek.indexer.build import BuildReport, BuildRequest, Verb
from factseek.retrieval.search.opening import leased

from ..retrieval.index.conftest import documents
from .conftest import CONFIG, settings
from .verbs import verify, written

pytestmark = pytest.mark.real
PATIENCE = 120.0
WORDS = (
    "measles vaccine sea level ice of the north rain after a dry summer river bridge town".split()
)


def many(count: int, version: str = "first") -> dict[str, str]:
    return {
        f"d{i:04d}": f"{version} {' '.join(WORDS[i % 7 : i % 7 + 6])} {i}" for i in range(count)
    }


def contents(index: Path) -> dict[str, Any]:
    checksums: dict[str, Any] = {}
    with leased(index) as parts:
        for part, segment in (
            (part, segment) for part, manifest in parts for segment in manifest.segments
        ):
            checksums[f"{part.name}/{segment.name}"] = segment.deleted
            for file in segment.files:
                if not file.endswith((".si", "segments_1")):  # Lucene writes the time into these
                    data = part / "segments" / segment.name / file
                    checksums[f"{part.name}/{segment.name}/{file}"] = hashlib.sha256(
                        without_id(data)
                    ).hexdigest()
    return checksums


def without_id(path: Path) -> bytes:
    """Return the bytes of a file; of one of Lucene's without the segment's id, which is random, and
    its checksum.
    """
    data = path.read_bytes()
    if path.parent.name != "lucene" or not data:
        return data
    begin = 4 + 1 + data[4] + 4  # the magic number, the codec's name with its length, the version
    return data[:-8].replace(data[begin : begin + 16], b"")


def built(
    index: Path, source: Path, address: str = "", verb: Verb = "", **options: Any
) -> BuildReport:
    request = BuildRequest(kind="jsonl", sources=(source,), folder=index, verb=verb, **options)
    return build_shards(
        request, 0 if verb else 3, CONFIG, builder(settings(address)) if address else build_here
    )


def there(path: Path) -> None:
    until = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < until, path
        time.sleep(0.02)


@pytest.mark.deep
def test_the_same_bytes_as_without_a_cluster(ray_cluster: str, tmp_path: Path) -> None:
    first = written(tmp_path, "first.jsonl", {each.docid: each.text for each in documents()})
    newer = {each.docid: f"{each.text} new" for each in list(documents())[:9]}
    changed = written(tmp_path, "second.jsonl", {**many(9), **newer})
    for source, verb in ((first, ""), (changed, "update"), (first, "update")):
        here = built(tmp_path / "here", source, verb=verb)
        there = built(tmp_path / "there", source, ray_cluster, verb=verb)
        counts = ("documents", "passages", "replaced", "duplicates", "skipped", "resumed")
        assert [getattr(here, name) for name in counts] == [getattr(there, name) for name in counts]
        assert contents(tmp_path / "here") == contents(tmp_path / "there")
    assert verify(tmp_path / "there", CONFIG).faults == []
    assert here.duplicates


@pytest.mark.deep
def test_a_command_that_is_killed_goes_on_when_it_is_run_again(
    ray_cluster: str, tmp_path: Path
) -> None:
    source, config = written(tmp_path, "source.jsonl", many(6000)), tmp_path / "config.yaml"
    config.write_text("cluster: {cpus: 0.1}\nindex: {segment_passages: 500}\n")
    command = [
        "index",
        "jsonl",
        str(source),
        "--no-dense",
        "--shards",
        "3",
        "--config",
        str(config),
    ]
    assert main([*command, "--index", str(tmp_path / "here")]) == 0
    on_cluster = [*command, "--ray", ray_cluster, "--index", str(tmp_path / "there")]
    process = subprocess.Popen([sys.executable, "-m", "factseek", *on_cluster])
    try:
        there(tmp_path / "there" / "shard-01" / "segments" / "000000")
    finally:
        process.kill()
        process.wait(PATIENCE)
    assert not (tmp_path / "there" / "shards.json").exists()
    again = subprocess.run(
        [sys.executable, "-m", "factseek", *on_cluster],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert f"{tmp_path}/there: " in again.stdout, again.stderr
    assert verify(tmp_path / "there", CONFIG).documents == 6000
    assert verify(tmp_path / "there", CONFIG).faults == []


@pytest.mark.deep
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--shards", "2", "--ray", "127.0.0.1:9"],
            "cluster.address: no Ray cluster answers at 127.0.0.1:9 "
            "(Connection refused); start a cluster with ray start --head, and give the address "
            "that it prints",
        ),
        (
            ["--ray", "127.0.0.1:9"],
            "--ray: only the shards of an index can be built on a cluster; give their number "
            "with --shards N",
        ),
    ],
)
def test_bad_arguments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    source = written(tmp_path, "a.jsonl", many(9))
    assert (
        main(["index", "jsonl", str(source), "--index", str(tmp_path / "index"), *arguments]) == 2
    )
    assert capsys.readouterr().err == f"factseek: {message}\n"
