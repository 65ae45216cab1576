"""Rankers of check-worthiness, trained or loaded, the statements that they rank, and the words that
explain a score.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from ... import __version__
from ...core.domain import Statement
from ...core.errors import QueryError, SourceError
from ...core.files import sha256, storable
from ...core.notebook import frame, html
from ...core.progress import Progress
from ...core.records.model_file import restored_from
from ...core.records.model_file import save as save_model
from ..learning.models import ModelManifest, load_for
from ..settings import Config
from ..text.languages import with_language
from .rankers import Ranker, kind, names

if TYPE_CHECKING:
    from ...eval.tasks import StatementTask

_VERSIONED = ("numpy", "scipy", "scikit-learn")


class TrainingFile(msgspec.Struct, frozen=True, kw_only=True):
    """A training file: its name, its checksum, its number of statements, and how many of them are
    worth checking.
    """

    name: str
    sha256: str
    statements: int
    positives: int


class RankerManifest(ModelManifest, frozen=True, kw_only=True):
    """The description of a ranker; ``languages`` are those of its training, or empty for any
    language.
    """

    languages: tuple[str, ...]
    sources: tuple[TrainingFile, ...]


class TrainedRanker(NamedTuple):
    """A ranker with its manifest."""

    ranker: Ranker
    manifest: RankerManifest


@dataclass(frozen=True, slots=True, kw_only=True)
class RankerRequest:
    """Where a ranker of a task comes from: the saved model ``load``, or the labelled files
    ``train`` and the kind of model, by default that of the configuration.
    """

    task: str
    train: tuple[Path, ...] = ()
    load: Path | None = None
    model: str = ""
    language: str = ""


def language_of_task(task: StatementTask) -> str:
    """Return the only language of a task; ``""`` if it has not exactly one, so that it is detected
    from the texts.
    """
    return task.LANGUAGES[0] if len(task.LANGUAGES) == 1 else ""


def load_or_train(
    request: RankerRequest, task: StatementTask, config: Config, progress: Progress
) -> TrainedRanker:
    """Load the ranker of a request, or train it.

    Raises QueryError if there is nothing to learn from; SourceError if a file cannot be read.
    """
    if request.load:
        return load(request.load, request.task, config)
    model = request.model or config.claims.model
    if not request.train and kind(model).LEARNS:
        raise QueryError(
            "give --train with labelled files to learn from, or --load with a saved model"
        )
    language = request.language or language_of_task(task)
    sources = [
        (path, with_language(task.read_statements(path, labelled=True), language))
        for path in request.train
    ]
    return train(request.task, model, sources, config, progress)


def save(path: Path, learned: TrainedRanker) -> None:
    """Write a ranker to a file; raise MachineError if that is impossible."""
    save_model(path, learned.manifest, learned.ranker.state())


def train(
    task: str,
    model: str,
    sources: Sequence[tuple[Path, list[Statement]]],
    config: Config,
    progress: Progress,
) -> TrainedRanker:
    """Train a ranker on labelled files. Raises SourceError if they do not hold both classes."""
    statements = [statement for _, labelled in sources for statement in labelled]
    positives = sum(bool(statement.label) for statement in statements)
    if statements and positives in (0, len(statements)):
        named = ", ".join(str(path) for path, _ in sources)
        remedy = "add statements with the other label: a ranker learns from both"
        raise SourceError(f"{named}: every label is {int(positives > 0)}", remedy=remedy)
    trained = kind(model).train(statements, config, progress)
    manifest = RankerManifest(
        task=task,
        model=model,
        languages=tuple(sorted({statement.language for statement in statements} - {""})),
        sources=tuple(_describe_file(path, labelled) for path, labelled in sources),
        settings=msgspec.json.decode(msgspec.json.encode(config.claims)),
        versions={"factseek": __version__} | {name: metadata.version(name) for name in _VERSIONED},
        figures=trained.figures,
    )
    return TrainedRanker(trained.ranker, manifest)


def _describe_file(path: Path, statements: Sequence[Statement]) -> TrainingFile:
    positives = sum(bool(statement.label) for statement in statements)
    return TrainingFile(
        name=storable(path.name),
        sha256=sha256(path),
        statements=len(statements),
        positives=positives,
    )


def load(path: Path, task: str | None, config: Config) -> TrainedRanker:
    """Load a saved ranker of ``task``, or of any task if that is None.

    Raises SourceError if the file is not a ranker or of another version, QueryError if it was
    trained for another task.
    """
    manifest, state = load_for(path, RankerManifest, task, names())
    with restored_from(path):
        ranker = kind(manifest.model).restore(state, config)
        if state.tensors:  # the random ranker has no tensors; a trial would advance its sequence
            trials = [
                Statement("1", "Trying: 2 words.", language=of) for of in manifest.languages or [""]
            ]
            scores = ranker.score(trials)
            probabilities = ranker.probability(scores)
            for numbers in (scores, scores if probabilities is None else probabilities):
                if numbers.shape != (len(trials),) or not np.isfinite(numbers).all():
                    raise ValueError("a score is not a finite number")
    return TrainedRanker(ranker, manifest)


_WORD = re.compile(r"https?://\S+|[@#]?\w+(?:[.,:'’]\w+)*%?")
_MOST = 200  # the number of distinct words to try; a tweet has fewer


class Weight(NamedTuple):
    """A word, and by how much the score falls without it; negative if it rises."""

    word: str
    weight: float


class Ranked(NamedTuple):
    """A statement with its rank: rank 1 is the most worth checking of the statements so far.

    ``probability`` of being worth checking is ``None`` if the ranker is not calibrated. ``words``
    are empty unless the caller asks for them.
    """

    rank: int
    score: float
    probability: float | None
    statement: Statement
    words: Sequence[Weight] = ()


def as_json(ranked: Ranked) -> dict[str, Any]:
    """Return a ranked statement as ``factseek rank --json`` prints it."""
    statement = ranked.statement
    record: dict[str, Any] = {
        "rank": ranked.rank,
        "score": ranked.score,
        "probability": ranked.probability,
    }
    record |= {"id": statement.qid, "topic": statement.topic, "text": statement.text}
    if ranked.words:
        record["words"] = [weight._asdict() for weight in ranked.words]
    return record


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedClaims:
    """Statements by check-worthiness, the most worth checking first, and the description of the
    model that ranked them.
    """

    manifest: RankerManifest
    ranked: tuple[Ranked, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the model and the statements; each is as ``factseek rank --json`` prints it."""
        return {
            "task": self.manifest.task,
            "model": self.manifest.model,
            "statements": [as_json(ranked) for ranked in self.ranked],
        }

    def to_frame(self) -> Any:
        """Return the statements as a DataFrame, the most worth checking first."""
        columns = ("rank", "score", "probability", "id", "topic", "text")
        records = [as_json(ranked) for ranked in self.ranked]
        return frame(columns, [[record[name] for name in columns] for record in records], "rank")

    def _repr_html_(self) -> str:
        """Return the statements as HTML, for a notebook."""
        header = ["rank", "worth checking", "id", "text"]
        explained = any(ranked.words for ranked in self.ranked)
        rows = []
        for ranked in self.ranked:
            statement = ranked.statement
            row = [str(ranked.rank), sureness(ranked), statement.qid, statement.text]
            if explained:
                row.append(", ".join(f"{each.word} {each.weight:+.2f}" for each in ranked.words))
            rows.append(row)
        if explained:
            header.append("words")
        return html(f"{len(rows):,} statements ranked by {self.manifest.model}", (header, rows))


def sureness(ranked: Ranked) -> str:
    """Return the probability of a statement as a percentage, or its score."""
    if ranked.probability is None:
        return f"{ranked.score:.3f}"
    return f"{ranked.probability:.0%}"


def rank_and_explain(
    learned: TrainedRanker, statements: Sequence[Statement], *, top: int = 0, words: int = 0
) -> RankedClaims:
    """Return the first ``top`` statements (0: all), each with at most ``words`` words that explain
    its score.
    """
    ranked = rank(learned.ranker, statements)[: top or None]
    if words:
        ranked = [
            each._replace(words=explain(learned.ranker, each.statement, words)) for each in ranked
        ]
    return RankedClaims(manifest=learned.manifest, ranked=tuple(ranked))


def rank(ranker: Ranker, statements: Sequence[Statement]) -> list[Ranked]:
    """Return statements by descending score; equal scores keep their order."""
    scores = ranker.score(statements)
    probabilities = ranker.probability(scores)
    order = sorted(range(len(statements)), key=lambda row: -float(scores[row]))
    likely = [None] * len(order) if probabilities is None else probabilities.tolist()
    return [
        Ranked(at, float(scores[row]), likely[row], statements[row])
        for at, row in enumerate(order, 1)
    ]


def rank_stream(
    ranker: Ranker, statements: Iterable[Statement], words: int = 0
) -> Iterator[Ranked]:
    """Rank each statement, as it arrives, among the earlier ones; earlier statements of equal score
    come first.

    Explain each by at most ``words`` words.
    """
    seen: list[float] = []
    for statement in statements:
        alone = rank(ranker, [statement])[0]
        above = len(seen) - bisect_left(seen, alone.score)
        insort(seen, alone.score)
        yield alone._replace(rank=above + 1, words=explain(ranker, statement, words))


def without(text: str, word: str) -> str:
    """Return a text without any occurrence of a word."""
    return _WORD.sub(lambda match: "" if match[0] == word else match[0], text)


def explain(ranker: Ranker, statement: Statement, most: int) -> list[Weight]:
    """Return at most ``most`` words whose absence changes the score, the largest absolute weight
    first.

    Equal weights are in text order. There are no words if the ranker's ``explains`` is false.
    """
    if not ranker.explains or not most:
        return []
    tried = list(dict.fromkeys(_WORD.findall(statement.text)))[:_MOST]
    variants = [statement._replace(text=without(statement.text, word)) for word in tried]
    whole, *parts = ranker.score([statement, *variants])
    weights = [Weight(word, float(whole - part)) for word, part in zip(tried, parts, strict=True)]
    return sorted(
        (weight for weight in weights if weight.weight), key=lambda weight: -abs(weight.weight)
    )[:most]
