"""CheckThat! 2020 task 3: rank the snippets of a claim's topic by their usefulness as evidence
(Arabic).

The qid of a claim is ``topic/tweet``. Scores follow trec_eval's rules; a claim without results
counts 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...core.domain import Qrels
from ...core.errors import QueryError
from ...core.records.lines import Faults, Strict, quote_value
from ...core.records.names import JUDGED_SNIPPETS, QRELS
from ...core.records.qrels import GRADES, LARGEST_GRADE, repeats_note
from ...core.records.runs import LARGEST, columns, score_texts
from ...core.records.table_shape import column_at, column_name
from ..files.answers import Answer, Note, RunScores, ScoreOptions, Scores, TaskDefaults, ignore
from ..files.report import CheckReport, check_ids, read_or_refuse
from ..files.tables import finite, is_header, rows, text_lines, whole
from ..files.tweets import claim_key, read_claim_queries
from ..scoring import ranking
from ..scoring.measures import mean

SUMMARY = "CheckThat! 2020 task 3: evidence snippets for a claim of a topic (Arabic)"
OFFICIAL = "P@10"
SUBMITS = "documents"
DEFAULT = False
LANGUAGES = ("ar",)
OPTIONS = ("measures",)
DEPTH = 100  # the maximum number of snippets that a run may list for a claim
DEFAULTS = TaskDefaults(DEPTH, most=DEPTH, profile="tweet", own_topic=True, unit="claim")
HEADER = ""

MEASURES = (
    "P@10,AP,P@1,P@3,P@5,P@20,P@30,P@50,RR,RR@1,RR@5,RR@10,Rprec,"
    "nDCG,nDCG@5,nDCG@10,R@10,R@30,R@100"
).split(",")
_LAYOUT = ("topicID", "tweetID", "rank", "snippetID", "score", "runID")
_GOLD = ("topicID", "tweetID", "snippetID", "label")
_SNIPPET = re.compile(r"(?P<topic>.+)-\d{4}-\d{3}")

read_queries = read_claim_queries


@dataclass(slots=True)
class _Claim:
    """The results of one claim read so far; ``rank``, ``score`` and ``snippet`` belong to the last
    result.
    """

    rank: int = 0
    score: float = LARGEST
    snippet: str = ""
    lines: dict[str, int] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)


def read_gold(paths: Sequence[Path], note: Note = ignore) -> Qrels:
    """Return the judgements of TSV files ``topicID tweetID snippetID label``, or qrels with qid
    ``topicID/tweetID``.
    """
    qrels: Qrels = {}
    for path in paths:
        faults = Strict(path)
        repeats: list[int] = []
        for line, qid, snippet, grade in _judgements(path, faults):
            judged = qrels.setdefault(qid, {})
            if judged.get(snippet) == grade:
                repeats.append(line)
            elif snippet in judged:
                faults.error(
                    line,
                    f"snippet {quote_value(snippet)} of claim {quote_value(qid)} is already judged",
                )
            judged[snippet] = grade
        if repeats:
            note(f"{path}:{repeats[0]}: {repeats_note(len(repeats))}")
    return qrels


def _judgements(path: Path, faults: Strict) -> Iterator[tuple[int, str, str, int]]:
    texts = text_lines(path, faults)
    filled = [
        (line, text.split("\t" if "\t" in text else None)) for line, text in texts if text.strip()
    ]
    places: Sequence[int | None] = range(len(_GOLD))
    if filled:
        names = [column_name(cell) for cell in filled[0][1]]
        header = [column_at(names, known) for known in JUDGED_SNIPPETS.values()]
        places = places if None in header else header
        if None not in header or names[-1] in QRELS["relevance"]:
            filled = filled[1:]
    if not filled:
        faults.error(0, "contains no judgements")
    for line, fields in filled:
        if len(fields) != len(_GOLD):
            faults.error(
                line, f"has {len(fields)} columns, but judgements have four ({' '.join(_GOLD)})"
            )
        first, second, snippet, text = (fields[place or 0] for place in places)
        if any([name] != name.split() for name in (first, second, snippet)):
            faults.error(line, "topic, tweet or snippet is empty or contains white space")
        grade = whole(text.removesuffix(".0"))
        if grade is None:
            advice = f"; a header has the names {' '.join(_GOLD)}" if is_header(line, text) else ""
            faults.error(
                line, f"label {quote_value(text)} is neither 0 nor a positive whole number{advice}"
            )
        if grade > LARGEST_GRADE:
            faults.error(line, f"label {quote_value(text)} is not {GRADES}; scale the labels down")
        yield (
            line,
            first if "/" in first and second in ("0", "Q0") else claim_key(first, second),
            snippet,
            grade,
        )


def read_scores(path: Path) -> RunScores:
    claims, _ = read_or_refuse(path, read_submission)
    return RunScores({qid: claim.scores for qid, claim in claims.items()})


def lines(answers: Sequence[Answer], run_id: str) -> list[str]:
    texts = []
    for qid, documents in answers:
        topic, slash, tweet = qid.rpartition("/")
        if not slash:
            raise QueryError(f"{quote_value(qid)} does not name a claim: give topic/tweet")
        docids = documents.docids[:DEPTH]
        columns([topic, tweet, run_id, *docids])
        hits = enumerate(zip(docids, score_texts(documents.scores[:DEPTH]), strict=True), 1)
        texts.append(
            "".join(
                f"{topic}\t{tweet}\t{rank}\t{docid}\t{value}\t{run_id}\n"
                for rank, (docid, value) in hits
            )
        )
    return texts


def check(path: Path, input_path: Path | None = None) -> CheckReport:
    report = CheckReport(path)
    claims = read_submission(path, report)
    if input_path is not None:
        first = {qid: next(iter(claim.lines.values())) for qid, claim in claims.items()}
        expected = [query.qid for query in read_queries(input_path)]
        check_ids(report, first, expected, name="claim", source=str(input_path))
    return report


def score(gold: Sequence[Path], runs: Sequence[Path], options: ScoreOptions) -> Scores:
    """Return each measure's mean over all claims, and its mean over topics of the mean over a
    topic's claims.
    """
    measures = options.measures or MEASURES
    scores = ranking.score_files(
        gold, runs, read_gold, read_scores, measures, unit="claim", official=OFFICIAL
    )
    topics: dict[str, list[str]] = {}
    for qid in scores.per_query:
        topics.setdefault(qid.rpartition("/")[0], []).append(qid)
    over_topics = {
        name: mean(
            [mean([scores.per_query[qid][name] for qid in qids]) for qids in topics.values()]
        )
        for name in scores.values
    }
    return replace(scores, topics=over_topics)


def read_submission(path: Path, faults: Faults) -> dict[str, _Claim]:
    claims: dict[str, _Claim] = {}
    odd: list[tuple[int, str]] = []
    rising: list[int] = []
    for line, (topic, tweet, rank, snippet, score_, _) in rows(path, faults, _LAYOUT, one_run=True):
        qid = claim_key(topic, tweet)
        claim = claims.setdefault(qid, _Claim())
        _take_rank(line, rank, claim, faults)
        before = claim.lines.setdefault(snippet, line)
        if before != line:
            which = f"snippet {quote_value(snippet)} of claim {quote_value(qid)}"
            faults.error(line, f"{which} is already on line {before}")
        known = _SNIPPET.fullmatch(snippet)
        if known and known["topic"] != topic:
            faults.error(
                line,
                f"snippet {quote_value(snippet)} does not belong to topic {quote_value(topic)}",
            )
        if not known:
            odd.append((line, snippet))
        if _take_score(line, score_, snippet, claim, faults):
            rising.append(line)
    if rising:
        reason = (
            f"equal scores with ascending snippet ids: {len(rising):,}; scoring sorts them in "
            "descending order"
        )
        faults.warning(rising[0], reason)
    if odd:
        line, snippet = odd[0]
        form = (
            f"snippet ids without the form TOPIC-0001-001: {len(odd):,} in all, such as "
            f"{quote_value(snippet)}"
        )
        faults.warning(line, f"{form}; their topic cannot be compared with the claim's")
    return claims


def _take_rank(line: int, text: str, claim: _Claim, faults: Faults) -> None:
    rank, due = whole(text), claim.rank + 1
    if rank is None:
        header = "; a run has no header" if is_header(line, text) else ""
        faults.error(line, f"rank {quote_value(text)} is not a whole number{header}")
    elif rank != due:
        faults.error(
            line, f"rank {rank}, expected {due}: ranks of a claim run 1, 2, 3 … without a gap"
        )
    if len(claim.lines) >= DEPTH:
        faults.error(
            line, f"is result {len(claim.lines) + 1} of its claim; at most {DEPTH} are allowed"
        )
    claim.rank = due if rank is None else rank


def _take_score(line: int, text: str, snippet: str, claim: _Claim, faults: Faults) -> bool:
    """Add a score; return whether it equals the score before it although the snippet id is
    greater.
    """
    value = finite(text)
    if value is None or abs(value) > LARGEST:
        faults.error(line, f"score {quote_value(text)} is not a finite float32 number")
        return False
    if value > claim.score:
        faults.error(line, f"score {text} rises above the score of the rank before")
    rises = value == claim.score and snippet > claim.snippet > ""
    claim.score, claim.snippet = value, snippet
    claim.scores.setdefault(snippet, value)
    return rises
