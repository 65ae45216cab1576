"""What the product is for, one end-to-end command line each, over the bundled example.

Search and batches over HTTP are in ``test_frozen.py``, each adapter and integration with its real
client in ``tests/server/adapters`` and ``tests/integrations``, shards on Ray in ``tests/cluster``.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

RANKERS = ("random", "ngram", "multilingual")
TWEETS, LEARNED_TWEETS = "examples/checkworthy-en-dev.tsv", "examples/checkworthy-en-train.tsv"
DEBATE, LEARNED_DEBATE = "examples/debate-health.tsv", "examples/debate-climate.tsv"


def ranking(task: str, model: str, train: str, test: str) -> list[str]:
    return [
        f"rank {task} --model {model} --train {train} --input {test} --output out",
        f"check {task} out --input {test}",
        f"score {task} --gold {test} --run out",
    ]


MISSION = {
    "index snippets": [
        "index snippets examples/snippets-en.tsv --index ix",
        "search measles --index ix",
    ],
    "index webpages": [
        "index webpages examples/pages-en --index ix",
        "search measles --index ix",
    ],
    "index cord19": [
        "index cord19 examples/cord19 --index ix",
        "search measles --index ix",
    ],
    "ct2020-evidence": [
        (
            "run ct2020-evidence --queries examples/claims-en.tsv --index indexes/example-en "
            "--output out"
        ),
        "check ct2020-evidence out --input examples/claims-en.tsv",
        "score ct2020-evidence --gold examples/evidence-gold-en.tsv --run out",
    ],
    "ct2020-verification": [
        "verdict ct2020-verification --train examples/verification-ar.tsv --input "
        "examples/claims-ar.tsv "
        "--index indexes/example-ar --output out",
        "check ct2020-verification out --input examples/claims-ar.tsv",
        "score ct2020-verification --gold examples/verification-gold-ar.tsv --run out",
    ],
    **{f"ct2021-1a {name}": ranking("ct2021-1a", name, LEARNED_TWEETS, TWEETS) for name in RANKERS},
    **{f"ct2021-1b {name}": ranking("ct2021-1b", name, LEARNED_DEBATE, DEBATE) for name in RANKERS},
    "ct2025-4b": [
        (
            "run ct2025-4b --queries examples/papers-en.tsv --index indexes/example-en "
            "--filter kind=cord19 --output out"
        ),
        "check ct2025-4b out --input examples/papers-en.tsv",
        "score ct2025-4b --gold examples/papers-en.tsv --run out",
    ],
    "fever": [
        "index fever examples/fever-pages.jsonl --index pages",
        (
            "verdict fever --train examples/fever-train.jsonl --input examples/fever-dev.jsonl "
            "--index pages --output out"
        ),
        "check fever out --input examples/fever-dev.jsonl",
        "score fever --gold examples/fever-dev.jsonl --run out",
    ],
    "bench": [
        "bench --index indexes/example-en --queries examples/queries-en.tsv --qrels "
        "examples/qrels-en.txt "
        "--retrievers bm25,dense,hybrid --measures nDCG@10 --timed 10 --output out",
    ],
}


@pytest.mark.real
@pytest.mark.parametrize("what", MISSION)
def test_mission(
    what: str,
    example_folder: Path,
    tmp_path: Path,
    command: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "examples").symlink_to(example_folder / "examples")
    shutil.copytree(example_folder / "indexes", tmp_path / "indexes")
    monkeypatch.chdir(tmp_path)
    for line in MISSION[what]:
        code, printed, said = command(*line.split())
        assert code == 0, f"{line}\n{said}"
        assert printed, line
