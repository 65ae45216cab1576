"""Standard measures, with the names of ir-measures.

The code of trec_eval computes those that it has. The other programs that ir-measures knows compute
the rest: gdeval, cwl_eval, pyndeval and small ones of ir-measures itself. A judged query without
results counts 0, as under trec_eval's ``-c``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from operator import itemgetter
from subprocess import CalledProcessError
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.domain import Qrels
from ...core.errors import QueryError
from ...core.records.qrels import LARGEST_GRADE, SubtopicQrels

RANKING = (
    "AP,AP@5,P@1,P@3,P@5,P@10,P@20,P@30,P@50,RR,RR@1,RR@5,RR@10,Rprec,"
    "nDCG,nDCG@5,nDCG@10,nDCG@20,R@5,R@10,R@20,R@50,R@100,R@1000"
).split(",")
"""The default measures of a ranking."""
TREC_EVAL = "pytrec_eval"
_DIVERSITY = "pyndeval"  # the program of the measures that read subtopics
_PROGRAMS = {TREC_EVAL: "trec_eval", "cwl_eval": "cwl-eval", "judged": "ir-measures"}
"""The names of programs for people, where ir-measures has another."""
# The number of queries evaluated together; it bounds the memory that their results take.
_BATCH = 1_000
_MOST_CUTOFF = 1_000_000  # the largest cutoff of a measure


class Figures(NamedTuple):
    """The value of each measure for each judged query: ``values`` is float64 of shape (queries,
    measures).
    """

    qids: list[str]
    names: list[str]
    values: NDArray[np.float64]

    def means(self) -> dict[str, float]:
        """Return the mean of each measure over the queries; the sum of a measure that counts, such
        as ``NumRet``.
        """
        return {
            name: _total(name, self.values[:, at].tolist()) for at, name in enumerate(self.names)
        }

    def to_frame(self) -> Any:
        """Return the value of each measure (columns) for each query (rows) as a DataFrame."""
        from ...core.notebook import frame

        rows = [[qid, *values] for qid, values in zip(self.qids, self.values.tolist(), strict=True)]
        return frame(["qid", *self.names], rows, "qid")

    def as_json(self) -> dict[str, Any]:
        """Return the mean of each measure, its value for each query, and the program that computed
        it.
        """
        return {
            "means": self.means(),
            "per_query": dict(self.per_query()),
            "programs": programs_of(self.names),
        }

    def _repr_html_(self) -> str:
        """Return the means as HTML, for a notebook."""
        from ...core.notebook import html
        from .tables import figure

        rows = [(name, figure(value)) for name, value in self.means().items()]
        title = f"{len(self.qids):,} queries"
        return html(title, (("measure", "mean"), rows), notes=note_on_programs(self.names))

    def per_query(self) -> Mapping[str, Mapping[str, float]]:
        """Return the value of each measure by qid."""
        rows = zip(self.qids, self.values.tolist(), strict=True)
        return {qid: dict(zip(self.names, row, strict=True)) for qid, row in rows}


class _Measure(NamedTuple):
    """A measure's name, the measure to compute for it, the cutoff to apply to a reciprocal rank, or
    0, and what computes it.
    """

    name: str
    computed: Any
    cutoff: int
    provider: str


def _total(name: str, values: Sequence[float]) -> float:
    measure = _parse_measure(name).computed
    return math.fsum(values) if _counts(measure) else mean(values)


def _counts(measure: Any) -> bool:
    """Return whether a measure counts things, so that queries are added up."""
    return "Sum" in type(measure.aggregator()).__name__


def programs_of(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the program that computes each measure: the measures by the name of the program."""
    programs: dict[str, list[str]] = {}
    for name in names:
        program = _parse_measure(name).provider
        programs.setdefault(_PROGRAMS.get(program, program), []).append(name)
    return programs


def note_on_programs(names: Sequence[str]) -> list[str]:
    """Return a note that says which program computes what; none if trec_eval computes all."""
    programs = programs_of(names)
    if set(programs) <= {"trec_eval"}:
        return []
    by_program = (f"{program} computed {', '.join(named)}" for program, named in programs.items())
    return ["; ".join(by_program)]


def mean(values: Sequence[float]) -> float:
    """Return the mean, with an exactly rounded sum; 0 for no values."""
    return math.fsum(values) / len(values) if values else 0.0


def parse_measures(text: str) -> list[str]:
    """Split a list of measures, ``AP,P@10`` or ``map,P_10``, and return the name that ir-measures
    gives each.

    Raises QueryError if the list is empty, or if a measure is unknown or not one of trec_eval's.
    """
    # Commas inside brackets belong to a measure: ``AP(rel=2),P@10``.
    parts = (part.strip() for part in re.split(r",(?![^()]*\))", text))
    names = [_parse_measure(part).name for part in parts if part]
    if not names:
        raise QueryError("no measure is given", remedy="for example AP,P@10,nDCG@10")
    return list(dict.fromkeys(names))


def evaluate(qrels: Qrels, run: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> Figures:
    """Compute measures for every judged query, in the order of ``qrels``.

    Results are in the order of trec_eval 10: score as a double, then docid, both descending.
    Results of queries without judgements are left out. Raises QueryError if a measure is unknown.
    """
    from ir_measures import pytrec_eval

    parsed = [_parse_measure(name) for name in names]
    measures = [measure for measure in parsed if measure.provider == TREC_EVAL]
    computed = list(dict.fromkeys(measure.computed for measure in measures))
    # Keyed by identity: hashing a measure costs more than computing it.
    column = {id(measure): at for at, measure in enumerate(computed)}
    qids = list(qrels)
    values = np.zeros((len(qids), len(computed)))
    for start in range(0, len(qids), _BATCH):
        batch = qids[start : start + _BATCH]
        row = {qid: start + at for at, qid in enumerate(batch) if run.get(qid)}
        answered = {qid: _separate_scores(run[qid]) for qid in row}
        # If all grades of a query are negative, trec_eval's nDCG may never end. Every figure is 0,
        # as for grades of 0.
        judged = {
            qid: grades if max(grades.values(), default=0) >= 0 else dict.fromkeys(grades, 0)
            for qid, grades in ((qid, qrels[qid]) for qid in batch)
        }
        # The evaluator's own iter_calc makes a record of each value and searches for missing ones:
        # that costs far more.
        for invoker in pytrec_eval.evaluator(computed, judged).invokers:
            results = invoker.evaluator.evaluate(answered)
            rows = np.array([row[qid] for qid in results], dtype=np.intp)
            for name, (measure, _) in invoker.measure_map.items():
                column_values = np.fromiter(
                    map(itemgetter(name), results.values()), np.float64, len(rows)
                )
                values[rows, column[id(measure)]] = column_values
    figures = values[:, [computed.index(measure.computed) for measure in measures]]
    for at, measure in enumerate(measures):
        if measure.cutoff:
            # 1/rank is exact enough to distinguish ranks; half a rank of slack absorbs rounding.
            figures[figures[:, at] < 1 / (measure.cutoff + 0.5), at] = 0.0
    columns = {measure.name: figures[:, at] for at, measure in enumerate(measures)}
    for measure in parsed:
        if measure.provider != TREC_EVAL:
            columns[measure.name] = _compute_elsewhere(measure, qrels, run)
    ordered = [columns[measure.name] for measure in parsed]
    return Figures(qids, [measure.name for measure in parsed], np.stack(ordered, axis=1))


def _compute_elsewhere(
    measure: _Measure, qrels: Qrels, run: Mapping[str, Mapping[str, float]]
) -> NDArray[np.float64]:
    """Return a measure of every judged query, computed by another program than trec_eval.

    Each program breaks ties in its own way, so it gets the ranks as scores. Some read only numbers
    as qids, and no blanks in docids, so both are numbered for them. Raises QueryError if the
    program fails.
    """
    numbers = {qid: str(number) for number, qid in enumerate(qrels, 1)}
    judged, ranked = {}, {}
    names: dict[str, dict[str, str]] = {}
    for qid, number in numbers.items():
        ranking = run.get(qid, {})
        order = sorted(ranking, reverse=True)
        order.sort(key=ranking.__getitem__, reverse=True)
        docids = {docid: f"d{at}" for at, docid in enumerate({**qrels[qid], **ranking})}
        names[qid] = docids
        judged[number] = {docids[docid]: grade for docid, grade in qrels[qid].items()}
        if order:
            scores = range(len(order), 0, -1)
            ranked[number] = {
                docids[docid]: float(score) for docid, score in zip(order, scores, strict=True)
            }
    values = dict.fromkeys(numbers.values(), 0.0)
    if ranked:
        provider = _providers()[measure.provider]
        given: Any = judged
        if measure.provider == _DIVERSITY and isinstance(qrels, SubtopicQrels):
            given = list(_rows_of_subtopics(qrels, numbers, names))
        try:
            for metric in provider.iter_calc([measure.computed], given, ranked):
                if metric.query_id in values:
                    values[metric.query_id] = float(metric.value)
        except (CalledProcessError, ValueError, RuntimeError, ArithmeticError) as error:
            raise QueryError(
                f"measure {measure.name!r}: {measure.provider} could not compute it ({error})"
            ) from None
    return np.array(list(values.values()))


def _rows_of_subtopics(
    qrels: SubtopicQrels, numbers: Mapping[str, str], names: Mapping[str, Mapping[str, str]]
) -> Iterator[Any]:
    """Yield the judgements of subtopics, under the ids that a program reads.

    ``numbers`` has the id of each qid, ``names`` the id of each docid of a query.
    """
    from ir_measures import Qrel

    for qid, number in numbers.items():
        subtopics: dict[str, str] = {}  # names may have blanks
        for docid, grades in qrels.subtopics[qid].items():
            for subtopic, grade in grades.items():
                key = subtopics.setdefault(subtopic, str(len(subtopics) + 1))
                yield Qrel(number, names[qid][docid], grade, key)


def _providers() -> dict[str, Any]:
    """Return the programs that ir-measures knows, by name, in its order of preference."""
    import ir_measures

    return {provider.NAME: provider for provider in ir_measures.DefaultPipeline.providers}


def values_of(
    qrels: Qrels, run: Mapping[str, Mapping[str, float]], measure: str
) -> NDArray[np.float64]:
    """Return one measure of every judged query, in the order of ``qrels``."""
    return evaluate(qrels, run, [measure]).values[:, 0]


def _separate_scores(ranking: Mapping[str, float]) -> Mapping[str, float]:
    """Return a ranking with distinct scores if float32, which trec_eval 9 uses, would merge scores
    that differ.
    """
    scores = np.fromiter(ranking.values(), np.float64, len(ranking))
    exact = np.sort(scores)
    with np.errstate(over="ignore"):
        single = exact.astype(np.float32)
    if not ((exact[1:] != exact[:-1]) & (single[1:] == single[:-1])).any():
        return ranking
    order = sorted(ranking, reverse=True)
    order.sort(key=ranking.__getitem__, reverse=True)
    return {docid: float(len(order) - rank) for rank, docid in enumerate(order)}


def follows_relevance(name: str) -> bool:
    """Return whether a measure uses only relevance by rank and never falls if a relevant document
    rises.
    """
    measure = _parse_measure(name).computed
    plain = not measure.params.get("judged_only") and "gains" not in measure.params
    return plain and measure.NAME in ("AP", "P", "R", "RR", "Rprec", "Success", "nDCG")


def _parse_measure(name: str) -> _Measure:
    from ir_measures import RR, parse_measure, parse_trec_measure, pytrec_eval
    from pytrec_eval import supported_nicknames

    try:
        named: list[Any] = []
        # The function ignores what follows a name, and prints on names of several measures.
        is_plain = re.fullmatch(r"[A-Za-z_]+([._][0-9.,]+)?", name)
        if is_plain and name not in supported_nicknames:
            with suppress(ValueError):  # unless it is one of trec_eval's names, such as ndcg_cut_10
                named = parse_trec_measure(name)
        measure = named[0] if len(named) == 1 else parse_measure(name)
        measure.validate_params()
        cutoff = (
            int(measure["cutoff"]) if measure.NAME == "RR" and "cutoff" in measure.params else 0
        )
        others = {key: value for key, value in measure.params.items() if key != "cutoff"}
        computed = RR(**others) if cutoff else measure
        supported = True
    except (
        ValueError,
        NameError,
        TypeError,
        KeyError,
        AssertionError,
        SyntaxError,
        AttributeError,
    ):
        supported = False
    if not supported or not _is_sensible(measure):
        remedy = f"for example {', '.join(RANKING[:6])}, nDCG@10, R@100"
        raise QueryError(f"unknown measure {name!r}", remedy=remedy) from None
    for part, most in (("rel", LARGEST_GRADE), ("cutoff", _MOST_CUTOFF)):
        if not 1 <= measure.params.get(part, 1) <= most:
            raise QueryError(f"measure {name!r}: {part} is not between 1 and {most:,}")
    if pytrec_eval.supports(computed):
        return _Measure(str(measure), computed, cutoff, TREC_EVAL)
    stated = _with_grade(measure)
    return _Measure(str(stated), stated, 0, _find_program(name, stated))


def _with_grade(measure: Any) -> Any:
    """Return a measure with the grade from which a document is relevant, 1 as in trec_eval, if the
    measure does not name one and programs compute it only with one (``RBP(p=0.8)``).

    The name of the result says the grade.
    """
    needed = "rel" in type(measure).SUPPORTED_PARAMS and "rel" not in measure.params
    if not needed or any(provider.supports(measure) for provider in _providers().values()):
        return measure
    graded = type(measure)(**measure.params, rel=1)
    able = any(provider.supports(graded) for provider in _providers().values())
    return graded if able else measure


def _find_program(name: str, measure: Any) -> str:
    """Return the name of the program that computes a measure; raise QueryError if none is here."""
    able = {key: provider for key, provider in _providers().items() if provider.supports(measure)}
    for key, provider in able.items():
        if provider.is_available():
            return key
    if able:
        program = _PROGRAMS.get(next(iter(able)), next(iter(able)))
        raise QueryError(
            f"measure {name!r} needs {program}, which is not installed",
            remedy=f"install it with: python -m pip install {program}",
        )
    raise QueryError(f"measure {name!r}: no program computes it in this form")


def _is_sensible(measure: Any) -> bool:
    gains = (measure.params.get("gains") or {}).values()
    cutoff = measure.params.get("cutoff")
    return (
        all(isinstance(gain, int) and abs(gain) <= LARGEST_GRADE for gain in gains)
        and math.isfinite(measure.params.get("beta", 1.0))
        and (
            cutoff >= 1
            if isinstance(cutoff, int)
            else cutoff is None and measure.NAME not in ("P", "R", "Success")
        )
    )
