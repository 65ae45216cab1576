"""Measure what each lever of ranking gains and costs: ``python -m benchmarks.levers``, a part of ``make bench-fusion``.

Where ``FACTSEEK_DATA`` names the folder of the public collections: on SciFact, NFCorpus and CheckThat! 2020 task 2, the
default fusions before and now, a second encoder, and the stage ``combine`` over two rankings and over three. On SciFact
the combination is cross-validated, on the others it learns from the train queries and is judged on dev. Writes the
tables into ``docs/benchmark.md``. What was measured of an index is kept, so that an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from time import process_time
from typing import NamedTuple

import msgspec
import numpy as np

from benchmarks.data_folder import data_folder
from benchmarks.fusion_rankings import BOTH
from benchmarks.marked import replace_marked
from benchmarks.parts import part
from benchmarks.quality import ROOT, BenchCollection, indexed, is_indexed, public
from factseek.eval.reports.page import markdown_table
from factseek.eval.running.batch import searched
from factseek.eval.running.judged import Judged, JudgedFiles, read_judged
from factseek.eval.scoring.measures import evaluate
from factseek.eval.scoring.statistics import Values, paired
from factseek.eval.training.combiner import CombinerRequest, TestBed, combination
from factseek.eval.training.pools import Pool, pools
from factseek.retrieval.combiner import Averaged, columns, save
from factseek.retrieval.config import CombineSettings, FusionSettings, SearchSettings
from factseek.retrieval.errors import FactseekError
from factseek.retrieval.files import write_atomically
from factseek.retrieval.index.local import open_index
from factseek.retrieval.progress import bar
from factseek.retrieval.searcher import Searcher
from factseek.retrieval.terminal import say
from factseek.settings import Config

TIMED = 100
"""Queries that are timed, one after the other, after as many to warm up."""


class Lever(NamedTuple):
    """A way to search: a fusion, whether a learned combination orders its hits anew, and the encoders of its index.

    With ``remembers``, the combination weighs for which judged queries a document was relevant.
    """

    name: str
    fusion: FusionSettings = FusionSettings()
    combines: bool = False
    remembers: bool = False
    encoders: tuple[str, ...] = ()


ALIKE = {"bm25": 0.5, "dense": 0.5}
LEVERS = (
    Lever("former fusion (reciprocal ranks, 10)", FusionSettings(kind="rrf", rrf_k=10, weights=ALIKE)),
    Lever("fusion before (min-max)", FusionSettings(kind="minmax", weights=ALIKE)),
    Lever("fusion (z-scores, the default)"),
    Lever("and a second encoder", encoders=BOTH),
    Lever("combiner over two rankings", combines=True),
    Lever("combiner over two rankings that remembers judged queries", combines=True, remembers=True),
    Lever("combiner over three rankings", combines=True, encoders=BOTH),
    Lever("combiner over three that remembers judged queries", combines=True, remembers=True, encoders=BOTH),
)


class LeverCollection(NamedTuple):
    """A collection with the measure that it is judged by; without ``train``, what is learned is cross-validated."""

    collection: BenchCollection
    measure: str
    train: tuple[Path, Path] | None


class MeasuredLever(msgspec.Struct, frozen=True, kw_only=True):
    """The measure of each query, and the processor milliseconds that a search takes."""

    values: dict[str, float]
    milliseconds: float


def main() -> int:
    """Measure what is missing, print the tables, write the document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=ROOT / "bench" / "quality", help="keeps indexes, models, figures")
    parser.add_argument("--kept", action="store_true", help="leave out the levers that were not measured before")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where benchmark.md is")
    args = parser.parse_args()
    try:
        collections = judged_collections(data_folder())
        text = "\n".join(filter(None, (_section(collection, args.work, kept=args.kept) for collection in collections)))
    except FactseekError as error:
        say(f"benchmarks.levers: {error.line}")
        return 2
    sys.stdout.write(text)
    replace_marked(args.docs / "benchmark.md", "levers", text)
    return 0


def judged_collections(data: Path) -> list[LeverCollection]:
    """Return the collections, with what is learned from."""
    scifact, nfcorpus, tweets = public(data)
    train = data / "ct2020-task2" / "train"
    return [
        LeverCollection(scifact, "nDCG@10", None),
        LeverCollection(nfcorpus, "nDCG@10", (nfcorpus.queries, nfcorpus.qrels.with_name("train.tsv"))),
        LeverCollection(tweets, "AP@5", (train / tweets.queries.name, train / tweets.qrels.name)),
    ]


def _section(judged: LeverCollection, work: Path, *, kept: bool) -> str:
    """Return the table of a collection, with ``kept`` of the levers alone that were measured before."""
    fitting = [lever for lever in LEVERS if _fits(lever, judged)]
    if kept:
        fitting = [lever for lever in fitting if _is_kept(judged, lever, work)]
    if not fitting:
        return ""
    measured = {lever.name: _kept(judged, lever, work) for lever in fitting}
    former = next(iter(measured.values()))
    rows = [_row(name, of_lever, former) for name, of_lever in measured.items()]
    header = (judged.collection.name, judged.measure, "gain, 95 % interval", "p", "processor ms a query")
    return markdown_table(header, rows, left=1)


def _fits(lever: Lever, judged: LeverCollection) -> bool:
    """Return whether a lever can be judged: in folds that share no document, judged queries tell nothing."""
    return judged.train is not None or not lever.remembers


def _collection(judged: LeverCollection, lever: Lever) -> BenchCollection:
    return judged.collection._replace(encoders=lever.encoders)


def _row(name: str, measured: MeasuredLever, former: MeasuredLever) -> list[str]:
    before, after = (np.array([of.values[qid] for qid in sorted(former.values)]) for of in (former, measured))
    test, time = paired(before, after, 0), f"{measured.milliseconds:.1f}"
    if measured is former:
        return [name, f"{after.mean():.3f}", "", "", time]
    difference = test.difference
    gain = f"{difference.mean:+.3f} ({difference.low:+.3f} to {difference.high:+.3f})"
    return [name, f"{after.mean():.3f}", gain, f"{test.p_randomisation:.4f}", time]


def _is_kept(judged: LeverCollection, lever: Lever, work: Path) -> bool:
    """Return whether a lever was measured with the index as it is."""
    collection = _collection(judged, lever)
    if not is_indexed(collection, work):
        return False
    with open_index(indexed(collection, work), _config(lever)) as index:
        return _path(judged, lever, index, work).is_file()


def _config(lever: Lever) -> Config:
    return Config(search=SearchSettings(fusion=lever.fusion))


def _path(judged: LeverCollection, lever: Lever, index: Searcher, work: Path) -> Path:
    """Return where the figures are kept of an index, of a fusion and, of a combination, of what it can be."""
    resolved = index.resolve()
    learned = (columns(resolved.rankings, remembers=lever.remembers), Averaged.KIND) if lever.combines else ()
    searched_by = sha256(msgspec.json.encode((resolved.settings.search.fusion, learned))).hexdigest()[:8]
    name = f"{judged.collection.name} {lever.name} {index.info.id} {searched_by}".replace(" ", "-").replace("/", "-")
    return work / "levers" / f"{name}.json"


def _kept(judged: LeverCollection, lever: Lever, work: Path) -> MeasuredLever:
    """Return what a lever is worth on a collection, measured unless that was done with this index."""
    folder = indexed(_collection(judged, lever), work)
    with open_index(folder, _config(lever)) as index:
        path = _path(judged, lever, index, work)
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            with part(f"{judged.collection.name}: {lever.name}"):
                measured = _measured(judged, lever, index, folder, path.with_suffix(".model"))
            write_atomically(path, msgspec.json.encode(measured))
    return msgspec.json.decode(path.read_bytes(), type=MeasuredLever)


def _measured(judged: LeverCollection, lever: Lever, index: Searcher, folder: Path, model: Path) -> MeasuredLever:
    own = read_judged(_files(judged, judged.collection.queries, judged.collection.qrels), index)
    if not lever.combines:
        return MeasuredLever(values=_searched(index, own, judged.measure), milliseconds=_milliseconds(index, own))
    files = judged.train or (judged.collection.queries, judged.collection.qrels)
    learned_from = read_judged(_files(judged, *files), index) if judged.train else own
    request = CombinerRequest(files=files, measure=judged.measure, remembers=lever.remembers)
    bed = TestBed(_pools(index, learned_from, request), learned_from.qrels, request)
    save(model, combination(index, learned_from, request, bed.model()))
    config = Config(
        search=SearchSettings(fusion=lever.fusion, stages=("combine",)), combine=CombineSettings(model=str(model))
    )
    with open_index(folder, config) as combining:
        milliseconds = _milliseconds(combining, own)
        if judged.train:
            return MeasuredLever(values=_searched(combining, own, judged.measure), milliseconds=milliseconds)
    return MeasuredLever(values=_by_qid(own, bed.held_out().after), milliseconds=milliseconds)


_READ: dict[tuple[str, Sequence[Path]], list[Pool]] = {}
"""The pools of an index and of files of judgements, which two levers learn from."""


def _pools(index: Searcher, learned_from: Judged, request: CombinerRequest) -> list[Pool]:
    key = (index.info.id, request.files)
    if key not in _READ:
        _READ.clear()
        _READ[key] = pools(index, learned_from, request.depth, bar)
    return _READ[key]


def _files(judged: LeverCollection, queries: Path, qrels: Path) -> JudgedFiles:
    return JudgedFiles(task="trec", queries=queries, qrels=qrels, profile=judged.collection.profile)


def _searched(index: Searcher, judged: Judged, measure: str) -> dict[str, float]:
    """Return the measure of each query, of the first ten hits."""
    run = {
        done.qid: {hit.docid: hit.score for hit in done.ranking}
        for chunk in searched(index, judged.asked, judged.search._replace(k=10))
        for done in chunk
    }
    return _by_qid(judged, evaluate(judged.qrels, run, [measure]).values[:, 0])


def _by_qid(judged: Judged, values: Values) -> dict[str, float]:
    return dict(zip(judged.qrels, values.tolist(), strict=True))


def _milliseconds(index: Searcher, judged: Judged) -> float:
    """Return the processor time of a search for ten hits, the mean over queries asked one after the other."""
    search = judged.search._replace(k=10)

    def ask(queries: Sequence[str]) -> float:
        began = process_time()
        for query in queries:
            index.search([query], search)
        return process_time() - began

    texts = [query.text for query in judged.asked]
    ask(texts[:TIMED])
    timed = texts[-TIMED:]
    return 1000 * ask(timed) / len(timed)


if __name__ == "__main__":
    sys.exit(main())
