"""The rankings that ways of fusing are compared on: of every collection, made once and kept as files."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, permutations
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.quality import ROOT, BenchCollection, example, indexed, public
from factseek.eval.formats.topics import read_topics
from factseek.eval.running.batch import SearchQuery, chunks, columns
from factseek.retrieval.domain import Filter, Hit, Qrels
from factseek.retrieval.files import write_atomically
from factseek.retrieval.index.local import open_index
from factseek.retrieval.retrievers import kind
from factseek.retrieval.searcher import Search
from factseek.retrieval.terminal import say
from factseek.retrieval.trec import read_qrels

DEPTH = 100
"""Documents of each ranking that are fused: what a search does by default."""

BOTH = ("all-MiniLM-L6-v2", "multilingual-e5-small")
"""The encoders of an index in English that is asked in other languages, or fuses three rankings."""
XQUAD_LANGUAGES = ("ar", "en", "es")

Ranking = dict[str, list[Hit]]
"""The documents found for each qid, best first."""


class Case(NamedTuple):
    """Judged queries of one collection; ``family`` names collections that share texts or questions.

    ``dense`` is the ranking by vectors that is fused with BM25's.
    """

    name: str
    family: str
    collection: BenchCollection
    queries: tuple[SearchQuery, ...]
    qrels: Qrels
    dense: str = "dense"


class RankedCase(NamedTuple):
    """A case with the ranking of each retriever, by its name."""

    case: Case
    rankings: dict[str, Ranking]

    def pair(self) -> dict[str, Ranking]:
        """Return the two rankings that are fused by default, by the names that they have then."""
        return {"bm25": self.rankings["bm25"], "dense": self.rankings[self.case.dense]}


def cases(data: Path | None, work: Path) -> list[Case]:
    """Return the bundled examples' cases and, where there is a folder of public collections, theirs."""
    judged = [_plain(example(), "the examples"), _plain(_arabic_example(), "the examples")]
    if data:
        judged += [_plain(collection, collection.name) for collection in public(data)]
        judged += list(_xquad(data / "xquad-r"))
        judged.append(_arabic_passages(data / "ct2019-task2-arabic", work))
    return judged


def ranked(case: Case, work: Path) -> RankedCase:
    """Return the rankings of a case, read from ``work`` where they were made from the index that is there."""
    folder = indexed(case.collection, work)
    with open_index(folder) as index:
        names = [name for name in index.info.retrievers if not kind(name).FUSES]
        path = work / "rankings" / f"{case.name}-{index.info.id}.json".replace(" ", "-").replace("/", "-")
        if not path.is_file():
            say(f"{case.name}: ranking {len(case.queries):,} queries by {' and '.join(names)}")
            search = Search(profile=case.collection.profile, k=DEPTH, group=True)
            rankings = {
                name: {
                    done.qid: list(zip(*done.ranking, strict=True))
                    for chunk in chunks(case.queries)
                    for done in columns(index, chunk, search._replace(retriever=name))
                }
                for name in names
            }
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, msgspec.json.encode(rankings))
    saved = msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, list[tuple[str, float]]]])
    return RankedCase(
        case, {name: {qid: [Hit(*hit) for hit in hits] for qid, hits in of.items()} for name, of in saved.items()}
    )


def _plain(collection: BenchCollection, family: str) -> Case:
    qrels = read_qrels(collection.qrels)
    queries = [
        SearchQuery(query.qid, query.text, None) for query in read_topics(collection.queries) if query.qid in qrels
    ]
    return Case(collection.name, family, collection, tuple(queries), _ordered(qrels, queries))


def _arabic_example() -> BenchCollection:
    folder = ROOT / "examples"
    steps = (("snippets", folder / "snippets-ar.tsv"), ("webpages", folder / "pages-ar"))
    queries, qrels = folder / "queries-ar.tsv", folder / "qrels-ar.txt"
    return BenchCollection("bundled example, Arabic", steps, queries, qrels, language="ar")


def _xquad(folder: Path) -> Iterator[Case]:
    """Yield XQuAD-R within each language, and with the questions of each other language."""
    within = {language: _within(folder / language, language) for language in XQUAD_LANGUAGES}
    yield from within.values()
    for asked, written in permutations(XQUAD_LANGUAGES, 2):
        case = within[written]
        yield case._replace(
            name=f"XQuAD-R {asked} over {written}",
            queries=within[asked].queries,
            qrels=_ordered(case.qrels, within[asked].queries),
            dense=f"dense:{BOTH[1]}" if case.collection.encoders else case.dense,
        )


def _within(folder: Path, language: str) -> Case:
    queries, qrels = folder / "queries.jsonl", folder / "qrels" / "test.tsv"
    encoders = BOTH if language == "en" else ()
    collection = BenchCollection(
        f"XQuAD-R {language}", (("beir", folder),), queries, qrels, language=language, encoders=encoders
    )
    return _plain(collection, "XQuAD-R")


def crosses(case: Case) -> bool:
    """Return whether questions are in another language than the paragraphs."""
    return " over " in case.name


def _arabic_passages(folder: Path, work: Path) -> Case:
    """Return CheckThat! 2019's passages, ranked for each claim among those of its own pages."""
    labels = folder / "passages" / "CT19-T2-Passages_Usefulness.csv"
    with labels.open(encoding="utf-8", newline="") as file:
        rows = [(claim, passage, int(label)) for claim, _, passage, label in csv.reader(file)]
    qrels: Qrels = {claim: {passage: label for _, passage, label in group} for claim, group in _by_claim(rows)}
    source = work / "ct2019-passages.jsonl"
    source.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(source, "".join(_documents(folder, {row[1]: row[0] for row in rows})).encode())
    with (folder / "claims" / "CT19-T2-Claims_with_Results.json").open(encoding="utf-8") as lines:
        claims = {claim["claimID"]: claim["text"] for claim in map(json.loads, lines)}
    queries = [SearchQuery(qid, claims[qid], Filter(topic=(qid,))) for qid in qrels]
    name = "CheckThat! 2019 task 2, Arabic"
    collection = BenchCollection(name, (("jsonl", source),), labels, labels, language="ar")
    return Case(name, name, collection, tuple(queries), qrels)


def _documents(folder: Path, topics: dict[str, str]) -> Iterator[str]:
    """Yield each judged passage once as a JSON line."""
    seen: set[str] = set()
    with (folder / "passages" / "CT19-T2-Passages_Text.json").open(encoding="utf-8") as lines:
        for page in map(json.loads, lines):
            for passage in page["paragraphs"]:
                docid = passage["parID"]
                if docid in topics and docid not in seen and passage["text"].strip():
                    seen.add(docid)
                    record = {"docid": docid, "text": passage["text"], "topic": topics[docid], "language": "ar"}
                    yield json.dumps(record, ensure_ascii=False) + "\n"


def _by_claim(rows: Sequence[tuple[str, str, int]]) -> Iterable[tuple[str, Iterator[tuple[str, str, int]]]]:
    return groupby(sorted(rows), lambda row: row[0])


def _ordered(qrels: Qrels, queries: Sequence[SearchQuery]) -> Qrels:
    return {query.qid: qrels[query.qid] for query in queries}


def data_folder_or_none() -> Path | None:
    """Return the folder of the public collections, None if ``FACTSEEK_DATA`` names none."""
    folder = os.environ.get("FACTSEEK_DATA")
    return Path(folder) if folder else None
