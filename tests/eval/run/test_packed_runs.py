"""Runs packed with gzip, and their description for TREC and TIRA."""

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from factseek.core.errors import SourceError
from factseek.core.records.runs import read_run, write_run
from factseek.eval.run.ir_metadata import COMPONENTS
from tests.conftest import ROOT

Command = Callable[..., tuple[int, str, str]]
QUERIES, QRELS = ROOT / "examples" / "queries-en.tsv", ROOT / "examples" / "qrels-en.txt"


def run(command: Command, example: Path, output: Path, *more: object) -> None:
    done = command(
        "run", "trec", "--queries", QUERIES, "--index", example, "--output", output, *more
    )
    assert done[0] == 0, done


def test_a_run_is_packed_to_the_same_bytes_and_read_everywhere(
    example: Path, command: Command, tmp_path: Path
) -> None:
    plain, packed, again = tmp_path / "run.txt", tmp_path / "run.txt.gz", tmp_path / "again.gz"
    for output in (plain, packed, again):
        run(command, example, output)
    assert packed.read_bytes() == again.read_bytes(), "neither a name nor a time is in it"
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "again.gz",
        "again.gz.meta.json",
        "run.txt",
        "run.txt.gz",
        "run.txt.gz.meta.json",
        "run.txt.meta.json",
    ]
    told = [
        json.loads((tmp_path / f"{output.name}.meta.json").read_text())["output"]
        for output in (plain, packed)
    ]
    assert told[0]["sha256"] == told[1]["sha256_unpacked"]
    assert read_run(packed) == read_run(plain)
    for words in (["check", "trec"], ["score", "trec", "--gold", QRELS, "--run"]):
        printed = [command(*words, output, "--json") for output in (plain, packed)]
        assert printed[0][0] == printed[1][0] == 0
        assert printed[0][1].replace("run.txt", "run.txt.gz") == printed[1][1]
    code, compared, _ = command(
        "compare", plain, packed, "--qrels", QRELS, "--json", "--measures", "AP"
    )
    assert (code, "AP" in compared) == (0, True)
    write_run(read_run(plain), tmp_path / "written.gz", "t")
    assert read_run(tmp_path / "written.gz") == read_run(plain)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda packed: packed[:-20], "is a truncated gzip file: the end of its data is missing"),
        (lambda packed: packed[:-6] + b"\0\0\0\0\0\0", "is a damaged gzip file (CRC check failed"),
        (lambda packed: packed[:20] + b"\xff" * 30 + packed[50:], "is a damaged gzip file ("),
        (lambda packed: gzip.compress(b"\0" * 101_000_000, 9), "contains a NUL byte"),
        (
            lambda packed: gzip.compress(b"1 Q0 d 1 1.0 " + b"x" * 101_000_000, 9),
            (
                "unpacks to more than 200 times its size; it is not a list of queries, "
                "judgements or hits"
            ),
        ),
    ],
)
def test_what_is_packed_badly_is_one_line(
    damage: Callable[[bytes], bytes], message: str, tmp_path: Path
) -> None:
    lines = "".join(f"q{n} Q0 d{math.sin(n)} 1 {n} t\n" for n in range(500))
    (tmp_path / "run.gz").write_bytes(damage(gzip.compress(lines.encode())))
    with pytest.raises(SourceError) as caught:
        read_run(tmp_path / "run.gz")
    assert caught.value.line.startswith(str(tmp_path / "run.gz"))
    assert message in caught.value.line or "times its size" in caught.value.line


def test_a_run_is_described_beside_it(example: Path, command: Command, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("actor: {team: ours}\ndata: {test collection: {qrels: qrels.txt}}\n")
    described, output = tmp_path / "ir-metadata.yml", tmp_path / "run.txt"
    run(
        command,
        example,
        output,
        "--ir-metadata",
        described,
        "--about",
        own,
        "--run-id",
        "ours-bm25",
    )
    text = described.read_text("utf-8")
    assert text.startswith(
        "# ir_metadata.start\nschema-version: 0.1\nrun-version: 1.0\ntag: ours-bm25\n"
    )
    assert text.endswith("# ir_metadata.end\n")
    told = yaml.safe_load(text)
    assert [name for name in told if name in COMPONENTS] == [
        "platform",
        "implementation",
        "method",
        "actor",
        "data",
    ]
    bm25 = {
        "name": "bm25",
        "method": "org.apache.lucene.search.similarities.BM25Similarity",
        "k1": 0.9,
        "b": 0.4,
    }
    assert told["method"]["retrieval"] == [bm25]
    assert told["implementation"]["executable"]["cmd"].endswith(
        "--about own.yaml --run-id ours-bm25"
    )
    assert told["data"]["test collection"] == {
        "name": "index",
        "topics": "queries-en.tsv",
        "qrels": "qrels.txt",
    }
    assert str(tmp_path) not in text, "no folder of this machine is told"
    first = described.read_bytes()
    output.unlink()
    run(
        command,
        example,
        output,
        "--ir-metadata",
        described,
        "--about",
        own,
        "--run-id",
        "ours-bm25",
    )
    assert described.read_bytes() == first
    own.write_text("# nothing\n")
    run(command, example, tmp_path / "other.txt", "--ir-metadata", described, "--about", own)
