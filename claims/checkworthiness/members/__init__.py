"""The members of the ``best`` ranker: one file each, found by its name, which offers what :class:`MemberKind` says.

Each reads a statement in its own way, and each is trained and scored alone. ``joint_NAME`` learns from all languages.
A member turns statements into rows of features once, so that cross-validation fits many models on few readings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ....retrieval.domain import Statement
from ....retrieval.errors import ConfigError
from ....retrieval.plugins import Plugins
from ....retrieval.records.model_file import State
from ...settings import JOINT, Config

Floats: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = NDArray[np.int64]
"""Labels of statements, 0 and 1."""


class Model(Protocol):
    """The part of a member that learned from labels."""

    def score(self, features: Any) -> Floats:
        """Return a score for each row of features."""
        ...

    def state(self) -> State:
        """Return the state from which the same model can be restored."""
        ...


class Member(Protocol):
    """One way to read statements."""

    strengths: tuple[float, ...]
    """The settings of how freely it may learn, of which cross-validation chooses one; at least one."""

    def features(self, statements: Sequence[Statement]) -> Any:
        """Return a row for each statement: an array or a sparse matrix."""
        ...

    def fit(self, features: Any, labels: Labels, weights: Floats, strength: float, seed: int) -> Model:
        """Return what it learns from rows, their labels, and how much each row counts."""
        ...

    def state(self) -> State:
        """Return the state from which the same member can be restored, without its model."""
        ...


class MemberReader(NamedTuple):
    """A member with what it learned."""

    member: Member
    model: Model


class MemberKind(Protocol):
    """The interface of a module of this package.

    ``FORWARDS`` says that what is learned of a time holds less at another one: its held-out scores are then those of
    statements that are later than all it learned from.
    """

    FORWARDS: bool

    def reads(self, statements: Sequence[Statement], config: Config) -> bool:
        """Return whether the member can read statements of one language."""
        ...

    def make(self, statements: Sequence[Statement], config: Config) -> Member:
        """Return the member for training; it may look at the statements, but not at their labels."""
        ...

    def restore(self, member: State, model: State, config: Config) -> MemberReader:
        """Return the reader of its states.

        Raises ValueError, KeyError or TypeError if they are not such states.
        """
        ...


KINDS = Plugins[MemberKind](__name__, ConfigError, "member", "there are")


def kind(name: str) -> MemberKind:
    """Return the kind of a member, joint or not.

    Raises ConfigError if there is none of that name.
    """
    return KINDS.load(name.removeprefix(JOINT))


def applies(name: str, statements: Sequence[Statement], config: Config) -> bool:
    """Return whether a member can read statements: joint ones read several languages, the others one."""
    several = len({statement.language for statement in statements}) > 1
    if several or name.startswith(JOINT):
        return several and name.startswith(JOINT) and kind(name).reads(statements, config)
    return kind(name).reads(statements, config)


def restored(name: str, member: State, model: State, config: Config) -> MemberReader:
    """Return the reader of its states.

    Raises ValueError, KeyError or TypeError if there is no member of that name, or these are not its states.
    """
    if name.removeprefix(JOINT) not in KINDS.names():
        raise ValueError(f"there is no member {name}")
    return kind(name).restore(member, model, config)
