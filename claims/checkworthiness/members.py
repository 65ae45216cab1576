"""The members of the ``best`` ranker: each reads a statement in its own way, and is trained and
scored on its own.

A member turns statements into rows of features once, so that cross-validation can fit many models
to them. The member ``joint_NAME`` is the member ``NAME`` that learns from the statements of all
languages together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from ...core.domain import Statement
from ...core.errors import MachineError
from ...core.records.model_file import State, array, number, restore_trees
from ...retrieval.config import AUTO, EncoderSettings
from ...retrieval.encoders.runtime import OnnxEncoder, open_onnx_encoder
from ...retrieval.encoders.sources import (
    ENGLISH,
    MULTILINGUAL,
    MissingModelError,
    choose_model,
    find_model,
    languages,
)
from ..learning import models
from ..learning.models import Floats, Labels
from ..settings import JOINT, Config
from ..text.surface import NAMES, decode_time, surface_features
from ..text.words import NgramVocabulary, Tokenizer, characters, learn_ngrams, words

_AT_ONCE = 512


class Model(Protocol):
    """The trained part of a member."""

    def score(self, features: Any) -> Floats:
        """Return a score for each row of features."""

    def state(self) -> State:
        """Return the state from which the same model can be restored."""


class Member(Protocol):
    """One way to read statements; ``strengths`` are the values of its hyperparameter that
    cross-validation tries.

    A ``forwards`` member is tested on statements later than those it learned from, because what it
    learns gets stale.
    """

    strengths: tuple[float, ...]
    forwards: ClassVar[bool] = False

    @classmethod
    def make(cls, statements: Sequence[Statement], config: Config) -> Self:
        """Return the member, prepared for these statements; it does not read their labels."""

    @classmethod
    def restore(cls, member: State, model: State, config: Config) -> MemberReader:
        """Return the member and its model; raise ValueError, KeyError or TypeError if their states
        do not fit.
        """

    @staticmethod
    def reads(statements: Sequence[Statement], config: Config) -> bool:
        """Return whether the member can read these statements."""
        return True

    def features(self, statements: Sequence[Statement]) -> Any:
        """Return a row for each statement: an array or a sparse matrix."""

    def fit(
        self, features: Any, labels: Labels, weights: Floats, strength: float, seed: int
    ) -> Model:
        """Return the model trained on rows and their labels; ``weights`` says how much each row
        counts.
        """

    def state(self) -> State:
        """Return the state from which the same member can be restored, without its model."""
        return State({}, {})


class MemberReader(NamedTuple):
    """A member with its trained model."""

    member: Member
    model: Model


def kind(name: str) -> type[Member]:
    """Return the class of a member, joint or not; raise KeyError if there is none of that name."""
    return KINDS[name.removeprefix(JOINT)]


def applies(name: str, statements: Sequence[Statement], config: Config) -> bool:
    """Return whether a member can read statements: joint members read several languages, the others
    one.
    """
    several = len({statement.language for statement in statements}) > 1
    return several == name.startswith(JOINT) and kind(name).reads(statements, config)


def _name_speakers(statements: Sequence[Statement]) -> list[str]:
    """Return the text of each statement; if it has a speaker, a word that names the speaker comes
    first.
    """
    names = (
        "".join(char if char.isalnum() else "_" for char in one.speaker.lower())
        for one in statements
    )
    return [
        f"speaker_{name} {one.text}" if name else one.text
        for one, name in zip(statements, names, strict=True)
    ]


_TERMS: Mapping[str, tuple[Tokenizer, int]] = {"words": (words, 1), "characters": (characters, 2)}
"""For each vocabulary: how to find the terms of a text, and the minimum number of statements that
hold a term.
"""


class _Lexical(Member):
    """Reads TF-IDF of words and word pairs, and of character n-grams, both of length 1; a linear
    model scores them.
    """

    def __init__(
        self, vocabularies: dict[str, NgramVocabulary], strengths: tuple[float, ...] = ()
    ) -> None:
        self.strengths = strengths
        self._vocabularies = vocabularies

    @classmethod
    def make(cls, statements: Sequence[Statement], config: Config) -> Self:
        texts = _name_speakers(statements)
        learned = {
            name: learn_ngrams(texts, tokenize, sublinear=True, least=least)
            for name, (tokenize, least) in _TERMS.items()
        }
        return cls(learned, config.claims.best.strengths)

    @classmethod
    def restore(cls, member: State, model: State, config: Config) -> MemberReader:
        vocabularies = {
            name: models.restore_vocabulary(
                member, member.settings["terms"][name], name, tokenize, sublinear=True
            )
            for name, (tokenize, _) in _TERMS.items()
        }
        width = sum(len(vocabulary.terms) for vocabulary in vocabularies.values())
        return MemberReader(cls(vocabularies), models.restore_linear(model, width))

    def features(self, statements: Sequence[Statement]) -> Any:
        from scipy.sparse import hstack

        texts = _name_speakers(statements)
        return hstack([self._vocabularies[name].vectors(texts) for name in _TERMS], format="csr")

    def fit(
        self, features: Any, labels: Labels, weights: Floats, strength: float, seed: int
    ) -> Model:
        return models.fit_linear(features, labels, weights, strength, seed)

    def state(self) -> State:
        terms = {name: list(vocabulary.terms) for name, vocabulary in self._vocabularies.items()}
        return State(
            {"terms": terms},
            {name: vocabulary.weights for name, vocabulary in self._vocabularies.items()},
        )


# The weight of the mean label; a statement similar to no labelled one gets this mean.
_SLIGHT = 1e-6


class _Votes:
    """Scores a statement by its total similarity to statements worth checking, divided by that to
    all labelled ones.

    The similarity is the cosine to the power of ``sharpness``.
    """

    def __init__(self, rows: Any, labels: Labels, sharpness: float) -> None:
        self._rows, self._labels, self._sharpness = rows, labels, sharpness

    def score(self, features: Any) -> Floats:
        shares = [np.empty(0)]
        for start in range(0, features.shape[0], _AT_ONCE):
            near = (features[start : start + _AT_ONCE] @ self._rows.T).toarray() ** self._sharpness
            prior = _SLIGHT * self._labels.mean()
            shares.append(
                ((near * self._labels).sum(axis=1) + prior) / (near.sum(axis=1) + _SLIGHT)
            )
        return np.concatenate(shares)

    def state(self) -> State:
        settings = {"sharpness": self._sharpness, "width": self._rows.shape[1]}
        return State(
            settings, {**models.row_tensors(self._rows), "labels": self._labels.astype(np.int8)}
        )


class _Neighbours(Member):
    """Reads TF-IDF of words and word pairs; scores a statement by the labels of similar
    statements.
    """

    def __init__(self, vocabulary: NgramVocabulary, strengths: tuple[float, ...] = ()) -> None:
        self.strengths = strengths
        self._vocabulary = vocabulary

    @classmethod
    def make(cls, statements: Sequence[Statement], config: Config) -> Self:
        return cls(
            learn_ngrams(_name_speakers(statements), words, sublinear=True),
            config.claims.best.sharpnesses,
        )

    @classmethod
    def restore(cls, member: State, model: State, config: Config) -> MemberReader:
        vocabulary = models.restore_vocabulary(
            member, member.settings["terms"], "idf", words, sublinear=True
        )
        rows = models.restore_rows(model, "", len(vocabulary.terms))
        labels = models.restore_labels(model, "labels", rows.shape[0])
        votes = _Votes(rows, labels, number(model, "sharpness", lambda value: value > 0))
        return MemberReader(cls(vocabulary), votes)

    def features(self, statements: Sequence[Statement]) -> Any:
        return self._vocabulary.vectors(_name_speakers(statements))

    def fit(
        self, features: Any, labels: Labels, weights: Floats, strength: float, seed: int
    ) -> Model:
        return _Votes(features, labels, strength)

    def state(self) -> State:
        return State({"terms": list(self._vocabulary.terms)}, {"idf": self._vocabulary.weights})


class _Signs(Member):
    """Reads numbers, names, addresses, punctuation and length, in any language; a forest of trees
    scores them.
    """

    def __init__(self, trees: int = 0, leaf: int = 1) -> None:
        self.strengths = (1.0,)
        self._trees, self._leaf = trees, leaf

    @classmethod
    def make(cls, statements: Sequence[Statement], config: Config) -> Self:
        return cls(config.claims.best.trees, config.claims.best.leaf)

    @classmethod
    def restore(cls, member: State, model: State, config: Config) -> MemberReader:
        return MemberReader(cls(), models.Forest(*restore_trees(model, len(NAMES))))

    def features(self, statements: Sequence[Statement]) -> Floats:
        return surface_features(statements)

    def fit(
        self, features: Floats, labels: Labels, weights: Floats, strength: float, seed: int
    ) -> Model:
        return models.grow_forest(
            features, labels, weights, trees=self._trees, leaf=self._leaf, seed=seed
        )


# The maximum number of statements for a kernel machine: its time grows with the square of their
# number.
_MOST = 5_000


class _Vectors(Member):
    """Reads the vectors of an encoder; a kernel machine or, for many statements, a linear model
    scores them.

    A vector is the mean of the encoder's last layers: the last represents the topic, earlier ones
    more of the wording.
    """

    def __init__(self, encoder: OnnxEncoder, strengths: tuple[float, ...] = ()) -> None:
        self.strengths = strengths
        self._encoder = encoder

    @classmethod
    def make(cls, statements: Sequence[Statement], config: Config) -> Self:
        return cls(
            open_onnx_encoder(_encoder_settings(config), layered=True), config.claims.best.strengths
        )

    @classmethod
    def restore(cls, member: State, model: State, config: Config) -> MemberReader:
        """Raise MachineError if the model was trained with another encoder than the one on this
        machine.
        """
        name, revision = member.settings["encoder"], member.settings["revision"]
        encoder = open_onnx_encoder(_encoder_settings(config, str(name)), layered=True)
        if (name, revision) != (encoder.name, encoder.revision):
            there = f"the configuration has {encoder.name} ({encoder.revision})"
            reason = f"the model was trained with encoder {name} ({revision}), but {there}"
            raise MachineError(reason, remedy="set encoder.model, or train again")
        restore = models.restore_kernel if "vectors" in model.tensors else models.restore_linear
        return MemberReader(cls(encoder), restore(model, None))

    @staticmethod
    def reads(statements: Sequence[Statement], config: Config) -> bool:
        known = languages(_encoder_settings(config).model, config.encoder)
        return not known or {statement.language for statement in statements} <= set(known)

    def features(self, statements: Sequence[Statement]) -> Floats:
        return self._encoder.encode_document([statement.text for statement in statements]).astype(
            np.float64
        )

    def fit(
        self, features: Floats, labels: Labels, weights: Floats, strength: float, seed: int
    ) -> Model:
        if len(labels) <= _MOST:
            return models.fit_kernel(features, labels, weights, strength)
        return models.fit_linear(features, labels, weights, strength, seed)

    def state(self) -> State:
        return State({"encoder": self._encoder.name, "revision": self._encoder.revision}, {})


def _encoder_settings(config: Config, trained: str = "") -> EncoderSettings:
    """Return the settings of the configured encoder.

    ``auto`` means the encoder that the model was ``trained`` with. Before a training, it means the
    multilingual encoder or, if that is not installed, the English encoder.
    """
    if config.encoder.model != AUTO:
        return config.encoder
    name = trained if trained in (ENGLISH, MULTILINGUAL) else MULTILINGUAL
    if name != trained:
        try:
            find_model(name)
        except MissingModelError:
            name = ENGLISH
    return choose_model(config.encoder, name)


_DOUBT = 0.5
"""The overall mean has the weight of this number of near tweets: several outweigh it, and a distant
tweet does not.
"""


class Moments:
    """Scores a tweet by the mean label of tweets, as log-odds; a tweet ``span`` days away has half
    the weight.
    """

    def __init__(self, moments: Floats, labels: Labels, span: float) -> None:
        self._moments, self._labels, self._span = moments, labels, span

    def score(self, features: Floats) -> Floats:
        """Return the log-odds for each row; a tweet without a known time gets those of the mean
        label.
        """
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
        return State(
            {"span": self._span}, {"moments": self._moments, "labels": self._labels.astype(np.int8)}
        )


class _Days(Member):
    """Reads the time of a tweet, in days (NaN if unknown), because tweets worth checking cluster in
    time.
    """

    forwards = True

    def __init__(self, strengths: tuple[float, ...] = ()) -> None:
        self.strengths = strengths

    @classmethod
    def make(cls, statements: Sequence[Statement], config: Config) -> Self:
        return cls(config.claims.best.spans)

    @classmethod
    def restore(cls, member: State, model: State, config: Config) -> MemberReader:
        moments = array(model, "moments", np.float64, None, allow_nan=True)
        labels = models.restore_labels(model, "labels", len(moments))
        return MemberReader(
            cls(), Moments(moments, labels, number(model, "span", lambda value: value > 0))
        )

    @staticmethod
    def reads(statements: Sequence[Statement], config: Config) -> bool:
        return not all(math.isnan(decode_time(statement)) for statement in statements)

    def features(self, statements: Sequence[Statement]) -> Floats:
        return np.array([decode_time(statement) for statement in statements])

    def fit(
        self, features: Floats, labels: Labels, weights: Floats, strength: float, seed: int
    ) -> Model:
        return Moments(features, labels, strength)


KINDS: Mapping[str, type[Member]] = {
    "days": _Days,
    "lexical": _Lexical,
    "neighbours": _Neighbours,
    "signs": _Signs,
    "vectors": _Vectors,
}
