"""The members of the ``best`` ranker: each reads a statement in its own way, and is trained and scored on its own.

A member turns statements into rows of features once, so that cross-validation can fit many models to them.
The member ``joint_NAME`` learns from all languages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...retrieval.config import AUTO, EncoderSettings
from ...retrieval.domain import Statement
from ...retrieval.encoders.runtime import OnnxEncoder, open_encoder
from ...retrieval.encoders.sources import ENGLISH, MULTILINGUAL, MissingModelError, find_model, languages, named
from ...retrieval.errors import ConfigError, MachineError
from ...retrieval.records.model_file import State, array, number
from ..learning.models import (
    Floats,
    Forest,
    Labels,
    LinearModel,
    fit_kernel,
    fit_linear,
    grow_forest,
    restore_forest,
    restore_kernel,
    restore_labels,
    restore_linear,
    restore_rows,
    restore_vocabulary,
)
from ..settings import JOINT, MEMBERS, Config
from ..text.surface import NAMES, surface_features, written
from ..text.words import Analyze, NgramVocabulary, characters, learn_ngrams, words

_AT_ONCE = 512


class Model(Protocol):
    """The trained part of a member."""

    def score(self, features: Any) -> Floats:
        """Return a score for each row of features."""

    def state(self) -> State:
        """Return the state from which the same model can be restored."""


class Member(Protocol):
    """One way to read statements; cross-validation chooses one of the ``strengths`` of its learning."""

    strengths: tuple[float, ...]

    def features(self, statements: Sequence[Statement]) -> Any:
        """Return a row for each statement: an array or a sparse matrix."""

    def fit(self, features: Any, labels: Labels, weights: Floats, strength: float, seed: int) -> Model:
        """Return the model trained on rows and their labels; ``weights`` says how much each row counts."""

    def state(self) -> State:
        """Return the state from which the same member can be restored, without its model."""


class MemberReader(NamedTuple):
    """A member with its trained model."""

    member: Member
    model: Model


class MemberKind(NamedTuple):
    """How to make a member from statements without their labels, and how to restore it with its model.

    ``restore`` takes the state of the member and the state of the model. ``reads`` says whether it can read statements
    of one language. ``forwards`` says that what the member learns becomes less valid over time. Its held-out scores are
    then those of statements later than the training statements. ``restore`` raises ValueError, KeyError or TypeError if
    the states do not fit.
    """

    make: Callable[[Sequence[Statement], Config], Member]
    restore: Callable[[State, State, Config], MemberReader]
    reads: Callable[[Sequence[Statement], Config], bool] = lambda statements, config: True
    forwards: bool = False


def kind(name: str) -> MemberKind:
    """Return the kind of a member, joint or not. Raises ConfigError if there is no member of that name."""
    own = name.removeprefix(JOINT)
    if own not in KINDS:
        raise ConfigError(f"unknown member {own[:80]!r}", remedy=f"the members are {', '.join(MEMBERS)}")
    return KINDS[own]


def applies(name: str, statements: Sequence[Statement], config: Config) -> bool:
    """Return whether a member can read statements: joint members read several languages, the others one."""
    several = len({statement.language for statement in statements}) > 1
    return several == name.startswith(JOINT) and kind(name).reads(statements, config)


def restored(name: str, member: State, model: State, config: Config) -> MemberReader:
    """Return the member and its model, restored from their states.

    Raises ValueError, KeyError or TypeError if there is no member of that name, or the states do not fit.
    """
    return KINDS[name.removeprefix(JOINT)].restore(member, model, config)


def _spoken(statements: Sequence[Statement]) -> list[str]:
    """Return the texts, each after a word that names its speaker, if there is one."""
    speakers = ("".join(char if char.isalnum() else "_" for char in one.speaker.lower()) for one in statements)
    return [
        f"speaker_{speaker} {statement.text}" if speaker else statement.text
        for statement, speaker in zip(statements, speakers, strict=True)
    ]


_ANALYZERS: Mapping[str, Analyze] = {"words": words, "characters": characters}
_LEAST = {"words": 1, "characters": 2}
"""The minimum number of statements that must hold a term."""


class _Lexical:
    """TF-IDF of words and word pairs, and of character n-grams, concatenated; each half has unit length."""

    def __init__(self, vocabularies: dict[str, NgramVocabulary], strengths: tuple[float, ...] = ()) -> None:
        self.strengths = strengths
        self._vocabularies = vocabularies

    def features(self, statements: Sequence[Statement]) -> Any:
        from scipy.sparse import hstack

        texts = _spoken(statements)
        return hstack([self._vocabularies[name].vectors(texts) for name in _ANALYZERS], format="csr")

    def fit(self, features: Any, labels: Labels, weights: Floats, strength: float, seed: int) -> LinearModel:
        return fit_linear(features, labels, weights, strength, seed)

    def state(self) -> State:
        terms = {name: list(vocabulary.terms) for name, vocabulary in self._vocabularies.items()}
        return State({"terms": terms}, {name: vocabulary.weights for name, vocabulary in self._vocabularies.items()})


def _make_lexical(statements: Sequence[Statement], config: Config) -> Member:
    texts = _spoken(statements)
    vocabularies = {
        name: learn_ngrams(texts, analyze, sublinear=True, least=_LEAST[name]) for name, analyze in _ANALYZERS.items()
    }
    return _Lexical(vocabularies, config.claims.best.strengths)


def _restore_lexical(member: State, model: State, config: Config) -> MemberReader:
    vocabularies = {
        name: restore_vocabulary(member, member.settings["terms"][name], name, analyze, sublinear=True)
        for name, analyze in _ANALYZERS.items()
    }
    width = sum(len(vocabulary.terms) for vocabulary in vocabularies.values())
    return MemberReader(_Lexical(vocabularies), restore_linear(model, width))


_SLIGHT = 1e-6
"""The weight of the mean label, which decides for a statement that resembles no labelled one."""


class _Votes:
    """Scores a statement by its similarity to labelled statements: the share that falls on those worth checking.

    The similarity is the cosine to the power of ``sharpness``.
    """

    def __init__(self, rows: Any, labels: Labels, sharpness: float) -> None:
        self._rows = rows
        self._labels = labels
        self._sharpness = sharpness

    def score(self, features: Any) -> Floats:
        shares = [np.empty(0)]
        for start in range(0, features.shape[0], _AT_ONCE):
            near = (features[start : start + _AT_ONCE] @ self._rows.T).toarray() ** self._sharpness
            prior = _SLIGHT * self._labels.mean()
            shares.append(((near * self._labels).sum(axis=1) + prior) / (near.sum(axis=1) + _SLIGHT))
        return np.concatenate(shares)

    def state(self) -> State:
        rows = self._rows
        tensors = {
            "values": rows.data,
            "columns": rows.indices.astype(np.int32),
            "starts": rows.indptr.astype(np.int64),
            "labels": self._labels.astype(np.int8),
        }
        return State({"sharpness": self._sharpness, "width": rows.shape[1]}, tensors)


class _Neighbours:
    """TF-IDF of words and word pairs; decides by the labels of similar statements."""

    def __init__(self, vocabulary: NgramVocabulary, strengths: tuple[float, ...] = ()) -> None:
        self.strengths = strengths
        self._vocabulary = vocabulary

    def features(self, statements: Sequence[Statement]) -> Any:
        return self._vocabulary.vectors(_spoken(statements))

    def fit(self, features: Any, labels: Labels, weights: Floats, strength: float, seed: int) -> _Votes:
        return _Votes(features, labels, strength)

    def state(self) -> State:
        return State({"terms": list(self._vocabulary.terms)}, {"idf": self._vocabulary.weights})


def _restore_neighbours(member: State, model: State, config: Config) -> MemberReader:
    vocabulary = restore_vocabulary(member, member.settings["terms"], "idf", words, sublinear=True)
    rows = restore_rows(model, "", len(vocabulary.terms))
    labels = restore_labels(model, "labels", rows.shape[0])
    votes = _Votes(rows, labels, number(model, "sharpness", lambda value: value > 0))
    return MemberReader(_Neighbours(vocabulary), votes)


class _Signs:
    """Reads numbers, names, addresses, punctuation and length, in any language; decides by a forest."""

    strengths: tuple[float, ...] = (1.0,)

    def __init__(self, trees: int = 0, leaf: int = 1) -> None:
        self._trees = trees
        self._leaf = leaf

    def features(self, statements: Sequence[Statement]) -> Floats:
        return surface_features(statements)

    def fit(self, features: Floats, labels: Labels, weights: Floats, strength: float, seed: int) -> Forest:
        return grow_forest(features, labels, weights, trees=self._trees, leaf=self._leaf, seed=seed)

    def state(self) -> State:
        return State({}, {})


_MOST = 5_000
"""The most statements that a kernel machine learns from; its time grows with the square of their number."""


class _Vectors:
    """The vectors of an encoder; decides by their similarity to the vectors of labelled statements.

    A vector is the mean of the outputs of the encoder's last layers. The last layer represents the topic of a
    statement; earlier layers represent more of its wording. For more than ``_MOST`` statements, a linear model replaces
    the kernel.
    """

    def __init__(self, encoder: OnnxEncoder, strengths: tuple[float, ...] = ()) -> None:
        self.strengths = strengths
        self._encoder = encoder

    def features(self, statements: Sequence[Statement]) -> Floats:
        return self._encoder.encode_document([statement.text for statement in statements]).astype(np.float64)

    def fit(self, features: Floats, labels: Labels, weights: Floats, strength: float, seed: int) -> Model:
        if len(labels) <= _MOST:
            return fit_kernel(features, labels, weights, strength)
        return fit_linear(features, labels, weights, strength, seed)

    def state(self) -> State:
        return State({"encoder": self._encoder.name, "revision": self._encoder.revision}, {})


def _encoder_settings(config: Config, trained: str = "") -> EncoderSettings:
    """Return the settings of the configured encoder.

    ``auto`` means the encoder that the model was ``trained`` with. Before a training, it means the multilingual encoder
    or, if that is not installed, the English encoder.
    """
    if config.encoder.model != AUTO:
        return config.encoder
    if trained in (ENGLISH, MULTILINGUAL):
        return named(config.encoder, trained)
    try:
        find_model(MULTILINGUAL)
    except MissingModelError:
        return named(config.encoder, ENGLISH)
    return named(config.encoder, MULTILINGUAL)


def _knows_languages(statements: Sequence[Statement], config: Config) -> bool:
    known = languages(_encoder_settings(config).model, config.encoder)
    return not known or {statement.language for statement in statements} <= set(known)


def _restore_vectors(member: State, model: State, config: Config) -> MemberReader:
    """Raises MachineError if the model was trained with another encoder than the one on this machine."""
    trained = member.settings["encoder"], member.settings["revision"]
    encoder = open_encoder(_encoder_settings(config, str(trained[0])), layered=True)
    if trained != (encoder.name, encoder.revision):
        raise MachineError(
            f"the model was trained with encoder {trained[0]} ({trained[1]}), but the configuration has {encoder.name} "
            f"({encoder.revision})",
            remedy="set encoder.model, or train again",
        )
    curved = "vectors" in model.tensors
    return MemberReader(_Vectors(encoder), restore_kernel(model, None) if curved else restore_linear(model, None))


_DOUBT = 0.5
"""The number of tweets that the overall mean counts as: several near tweets outvote it, a distant tweet does not."""


class Moments:
    """Scores a tweet by the share worth checking among the tweets within about ``span`` days, as log-odds."""

    def __init__(self, moments: Floats, labels: Labels, span: float) -> None:
        self._moments = moments
        self._labels = labels
        self._span = span

    def score(self, features: Floats) -> Floats:
        """Return the log-odds for each row; a tweet without a known time gets the log-odds of all tweets."""
        mean = self._labels.mean()
        scores = np.full(len(features), np.log(mean / (1 - mean)))
        known, dated = np.flatnonzero(~np.isnan(features)), ~np.isnan(self._moments)
        moments, labels = self._moments[dated], self._labels[dated]
        for start in range(0, len(known), _AT_ONCE):
            rows = known[start : start + _AT_ONCE]
            near = 1 / (1 + ((features[rows, None] - moments) / self._span) ** 2)
            # Sum row by row: in a matrix product, a score may depend on the other rows.
            worth, all_near = (near * labels).sum(axis=1) + _DOUBT * mean, near.sum(axis=1) + _DOUBT
            scores[rows] = np.log(worth / (all_near - worth))
        return scores

    def state(self) -> State:
        """Return the times of the labelled tweets, and their labels."""
        return State({"span": self._span}, {"moments": self._moments, "labels": self._labels.astype(np.int8)})


class _Days:
    """Reads the time of a tweet, in days (NaN if unknown), because tweets worth checking cluster in time."""

    def __init__(self, strengths: tuple[float, ...] = ()) -> None:
        self.strengths = strengths

    def features(self, statements: Sequence[Statement]) -> Floats:
        return np.array([written(statement) for statement in statements])

    def fit(self, features: Floats, labels: Labels, weights: Floats, strength: float, seed: int) -> Moments:
        return Moments(features, labels, strength)

    def state(self) -> State:
        return State({}, {})


def _restore_days(member: State, model: State, config: Config) -> MemberReader:
    moments = array(model, "moments", np.float64, None, allow_nan=True)
    labels = restore_labels(model, "labels", len(moments))
    return MemberReader(_Days(), Moments(moments, labels, number(model, "span", lambda value: value > 0)))


KINDS: Mapping[str, MemberKind] = {
    "days": MemberKind(
        make=lambda statements, config: _Days(config.claims.best.spans),
        restore=_restore_days,
        reads=lambda statements, config: not all(math.isnan(written(statement)) for statement in statements),
        forwards=True,
    ),
    "lexical": MemberKind(_make_lexical, _restore_lexical),
    "neighbours": MemberKind(
        make=lambda statements, config: _Neighbours(
            learn_ngrams(_spoken(statements), words, sublinear=True), config.claims.best.sharpnesses
        ),
        restore=_restore_neighbours,
    ),
    "signs": MemberKind(
        make=lambda statements, config: _Signs(config.claims.best.trees, config.claims.best.leaf),
        restore=lambda member, model, config: MemberReader(_Signs(), restore_forest(model, len(NAMES))),
    ),
    "vectors": MemberKind(
        make=lambda statements, config: _Vectors(
            open_encoder(_encoder_settings(config), layered=True), config.claims.best.strengths
        ),
        restore=_restore_vectors,
        reads=_knows_languages,
    ),
}
