"""Build the bundled example indexes, ``example-en``, ``example-ar`` and ``example-reviews``, and a
ranker of check-worthiness. An index or a ranker that is up to date is not built again.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO
from multiprocessing import get_context
from pathlib import Path

from factseek import commands, settings
from factseek.claims import settings as claims
from factseek.claims.checkworthiness import ranking
from factseek.core.errors import FactseekError, IndexStateError
from factseek.core.files import sha256
from factseek.core.settings import view
from factseek.indexer.build import describe
from factseek.retrieval.lucene.analysis import ANALYSIS
from factseek.retrieval.store import manifest as manifests

HERE = Path(__file__).resolve().parent
INDEXES = HERE.parent / "indexes"

STEPS: dict[str, list[tuple[str, str]]] = {
    "example-en": [("snippets", "snippets-en.tsv"), ("webpages", "pages-en"), ("cord19", "cord19")],
    "example-ar": [("snippets", "snippets-ar.tsv"), ("webpages", "pages-ar")],
    "example-reviews": [("claimreview", "reviews-en.json")],
}
"""For each index, the kind and the file or folder of each source, in the order of indexing."""

NAMES = {
    "example-en": "English examples",
    "example-ar": "Arabic examples",
    "example-reviews": "example fact-checks",
}
OPTIONS = {"example-ar": ["--language", "ar"]}

TASK, TWEETS, RANKER = "ct2021-1a", HERE / "checkworthy-en-train.tsv", "tweets.model"
"""The task and the training file of the ranker, and the name of its file in the folder of the
indexes.
"""


LANES = (("example-en", RANKER), ("example-ar", "example-reviews"))
"""What each process builds, in order.

Its first build exports an encoder that the other process reads later.
"""


def main(indexes: Path = INDEXES) -> int:
    """Build what is missing or out of date in ``indexes``, in two processes; return the higher exit
    code.
    """
    with ProcessPoolExecutor(len(LANES), get_context("spawn")) as processes:
        return max(processes.map(partial(_build, indexes), LANES))


def _build(indexes: Path, lane: tuple[str, ...]) -> int:
    """Build what is missing or out of date in ``lane``; stop at the first failure and return its
    exit code, else 0.
    """
    code = 0
    for name in lane:
        number = 2 + [*STEPS, RANKER].index(name)
        if name == RANKER:
            lines = [["rank", TASK, "--train", str(TWEETS), "--save", str(indexes / RANKER)]]
            doing, is_current = "learn which tweets are worth checking", _trained(indexes / RANKER)
        else:
            lines = [
                [
                    "index",
                    kind,
                    str(HERE / source),
                    "--index",
                    str(indexes / name),
                    verb,
                    *OPTIONS.get(name, []),
                ]
                for verb, (kind, source) in zip(
                    ["--overwrite", "--append", "--append"], STEPS[name], strict=False
                )
            ]
            doing, is_current = f"index the {NAMES[name]}", _current(indexes / name)
        code = code or _run(f"step {number} of 5: {doing}", [] if is_current else lines)
    return code


def _run(step: str, lines: list[list[str]]) -> int:
    """Print the step and run its command lines; if one fails, show its output and return its exit
    code.
    """
    if lines:
        print(step, flush=True)  # noqa: T201
    for line in lines:
        said = StringIO()
        with redirect_stdout(said), redirect_stderr(said):
            code = commands.main(line)
        if code:
            sys.stderr.write(said.getvalue())
            return code
    return 0


def _current(index: Path) -> bool:
    """Return whether an index exists and was built from the present content of its sources, by the
    present version of the analysis.
    """
    try:
        manifest = manifests.read(index)
    except IndexStateError:
        return False
    if manifest.analysis.version != ANALYSIS:
        return False
    built = [(segment.kind, segment.sources) for segment in manifest.segments]
    return built == [(kind, describe([HERE / source])) for kind, source in STEPS[index.name]]


def _trained(ranker: Path) -> bool:
    """Return whether the ranker fits the configuration and was trained on the present content of
    its source.
    """
    try:
        learned = ranking.load(ranker, TASK, view(settings.read_config(), claims.Config))
    except FactseekError:
        return False
    return [source.sha256 for source in learned.manifest.sources] == [sha256(TWEETS)]


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
