"""The strongest ranker that needs no download: several members score a statement, and
cross-validation weights them.

For each language, some members learn from its statements alone, others from the statements of all
languages. Each member scores statements that it did not learn from; these scores decide which
members count, and how much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....core.domain import Statement
from ....core.errors import QueryError
from ....core.progress import Progress
from ....core.records.model_file import State, number
from ....retrieval.encoders.runtime import available_cores
from ...learning.folds import (
    Stack,
    ablation,
    average_precision,
    check_enough,
    chosen_members,
    folds,
    forwards,
    learn_stack,
    sample_statements,
)
from ...learning.models import within
from ...settings import JOINT, Config
from ..members import Member, MemberReader, applies
from ..members import kind as member_kind
from . import Trained

LEARNS = True

_ALL = "all"  # the name of all languages together, next to the language codes


class BestRanker:
    """Scores a statement by the stack of its language: a weighted sum of the scores of trained
    members.
    """

    explains = True

    def __init__(self, readers: Mapping[str, MemberReader], stacks: Mapping[str, Stack]) -> None:
        self._readers, self._stacks = readers, stacks

    def score(self, statements: Sequence[Statement]) -> NDArray[np.float64]:
        """Return the log-odds of being worth checking."""
        scores = np.zeros(len(statements))
        languages = np.array([statement.language for statement in statements])
        for language in sorted(set(languages.tolist())):
            if language not in self._stacks:
                known = ", ".join(sorted(self._stacks))
                raise QueryError(
                    f"the model did not learn from language {language!r}, only from {known}"
                )
            rows, stack = np.flatnonzero(languages == language), self._stacks[language]
            own = [statements[int(row)] for row in rows]
            readers = ((name, self._readers[_key(language, name)]) for name in stack.weights)
            scores[rows] = stack.score(
                {name: one.model.score(one.member.features(own)) for name, one in readers}
            )
        return scores

    def probability(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(1 / (1 + np.exp(-scores)))

    def state(self) -> State:
        tensors: dict[str, NDArray[Any]] = {}
        readers: dict[str, Any] = {}
        for name, reader in self._readers.items():
            parts = {"member": reader.member.state(), "model": reader.model.state()}
            readers[name] = {part: state.settings for part, state in parts.items()}
            for part, state in parts.items():
                tensors.update(
                    {f"{name}/{part}/{tensor}": array for tensor, array in state.tensors.items()}
                )
        stacks = {language: stack._asdict() for language, stack in self._stacks.items()}
        return State({"stacks": stacks, "readers": readers}, tensors)


def train(statements: Sequence[Statement], config: Config, progress: Progress) -> Trained:
    """Try every member on each language, keep those that help, and train these again on all
    statements.
    """
    among, shifts = _populations(statements, config)
    tried = _try_members(among, config, progress)
    stacks, figures = {}, {}
    for language, shift in shifts.items():
        scores = {name: attempt.scores for name, attempt in tried[language].items()}
        own = among[language]
        kept = chosen_members(scores, own.labels, own.folds)
        stack = learn_stack({name: scores[name] for name in kept}, own.labels)
        stacks[language] = stack._replace(bias=stack.bias + shift)
        figures[language] = ablation(scores, list(stack.weights), own.labels, own.folds)
    readers = {}
    for key in sorted(
        {_key(language, name) for language, stack in stacks.items() for name in stack.weights}
    ):
        where, _, name = key.partition("/")
        best, own = tried[where][name], among[where]
        model = best.member.fit(
            best.rows, own.labels, own.weights, best.strength, config.claims.seed
        )
        readers[key] = MemberReader(best.member, model)
    return Trained(BestRanker(readers, stacks), figures)


def restore(state: State, config: Config) -> BestRanker:
    readers, stacks = {}, {}
    for key, parts in state.settings["readers"].items():
        member, model = (
            State(parts[part], within(state.tensors, f"{key}/{part}/"))
            for part in ("member", "model")
        )
        readers[key] = member_kind(key.partition("/")[2]).restore(member, model, config)
    for language, saved in state.settings["stacks"].items():
        numbers = State({**saved["weights"], "": saved["bias"]}, {})
        weights = {name: number(numbers, name) for name in saved["weights"]}
        if not weights or any(_key(language, name) not in readers for name in weights):
            raise ValueError(f"{language}: a trained member is missing")
        stacks[language] = Stack(weights, number(numbers, ""))
    return BestRanker(readers, stacks)


class _Population(NamedTuple):
    """The statements that a member learns from, with their folds, their blocks in time, and their
    weights.
    """

    statements: list[Statement]
    labels: NDArray[np.int64]
    folds: NDArray[np.int64]
    blocks: NDArray[np.int64]
    weights: NDArray[np.float64]


class _Trial(NamedTuple):
    member: Member
    rows: Any
    strength: float
    scores: NDArray[np.float64]


def _population(statements: Sequence[Statement], of_folds: NDArray[np.int64]) -> _Population:
    """Return the statements with weights that balance the two classes within each language."""
    labels = np.array([statement.label for statement in statements], dtype=np.int64)
    languages = np.array([statement.language for statement in statements])
    weights = np.ones(len(statements))
    for language in sorted(set(languages.tolist())):
        for label in (0, 1):
            rows = (languages == language) & (labels == label)
            weights[rows] = (languages == language).sum() / (2 * max(1, rows.sum()))
    return _Population(
        list(statements), labels, of_folds, forwards(statements, int(of_folds.max()) + 1), weights
    )


def _populations(
    statements: Sequence[Statement], config: Config
) -> tuple[dict[str, _Population], dict[str, float]]:
    """Return the statements of each language, and of all languages together if there are several.

    The second value has a number for each language: added to log-odds, it corrects for the sampling
    of statements.
    """
    settings, seed = config.claims, config.claims.seed
    among: dict[str, _Population] = {}
    shifts: dict[str, float] = {}
    for language in sorted({statement.language for statement in statements}):
        in_language = [statement for statement in statements if statement.language == language]
        check_enough(in_language, language)
        kept, shifts[language] = sample_statements(in_language, settings.best.most_negatives, seed)
        among[language] = _population(kept, folds(kept, settings.folds, seed))
    if len(among) > 1:
        every = [statement for own in among.values() for statement in own.statements]
        among[_ALL] = _population(every, np.concatenate([own.folds for own in among.values()]))
    return among, shifts


def _try_members(
    among: Mapping[str, _Population], config: Config, progress: Progress
) -> dict[str, dict[str, _Trial]]:
    """Try the members on each population; each language also gets the joint members, scored on its
    statements.
    """
    names = config.claims.best.members
    tries = {
        where: [name for name in names if applies(name, own.statements, config)]
        for where, own in among.items()
    }
    tried: dict[str, dict[str, _Trial]] = {where: {} for where in among}
    with closing(progress("learning", "member", sum(map(len, tries.values())))) as bar:
        for where, own in among.items():
            for name in tries[where]:
                tried[where][name] = _trial(name, own, config)
                bar.update(1)
    start = 0
    for where, own in among.items():
        end = start + len(own.labels)
        for joint, whole in tried.get(_ALL, {}).items() if where != _ALL else ():
            tried[where][joint] = whole._replace(scores=whole.scores[start:end])
        start = end
    return tried


def _trial(name: str, among: _Population, config: Config) -> _Trial:
    """Return the trial of a member with the strength whose held-out scores have the best AP; of
    equals, the first.

    Each model learns on one thread, from all folds but one, and scores that fold. A ``forwards``
    member learns from the earlier blocks and scores the next block. A statement that no model
    scores gets the log-odds of the mean label.
    """
    member, labels = member_kind(name).make(among.statements, config), among.labels
    rows = member.features(among.statements)
    if member_kind(name).forwards:
        blocks, dated = among.blocks, among.blocks >= 0
        parts = [
            (dated & (blocks < block), blocks == block) for block in range(1, int(blocks.max()) + 1)
        ]
        parts = [part for part in parts if len(set(labels[part[0]].tolist())) == 2]
    else:
        parts = [
            (among.folds != fold, among.folds == fold) for fold in sorted(set(among.folds.tolist()))
        ]
    mean = float(labels.mean())

    def held_out(strength: float) -> NDArray[np.float64]:
        def score(part: tuple[NDArray[np.bool_], NDArray[np.bool_]]) -> NDArray[np.float64]:
            learned, tested = part
            model = member.fit(
                rows[learned], labels[learned], among.weights[learned], strength, config.claims.seed
            )
            return model.score(rows[tested])

        scores = np.full(len(labels), math.log(mean / (1 - mean)))
        with ThreadPoolExecutor(max(1, min(available_cores(), len(parts)))) as pool:
            for (_, tested), of_part in zip(parts, pool.map(score, parts), strict=True):
                scores[tested] = of_part
        return scores

    tried = [(strength, held_out(strength)) for strength in member.strengths]
    strength, scores = max(tried, key=lambda attempt: average_precision(labels, attempt[1]))
    return _Trial(member, rows, strength, scores)


def _key(language: str, name: str) -> str:
    return f"{_ALL if name.startswith(JOINT) else language}/{name}"
