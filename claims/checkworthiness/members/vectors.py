"""Member that scores a statement by its vector, from a sentence encoder that knows its language.

The vector is the mean of what the encoder's last layers make of it: the very last tells what a statement is about, the
ones before it more of how it is put.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....retrieval.config import AUTO, EncoderSettings
from ....retrieval.domain import Statement
from ....retrieval.encoders.runtime import OnnxEncoder, open_encoder
from ....retrieval.encoders.sources import ENGLISH, MULTILINGUAL, MissingModelError, find_model, languages, named
from ....retrieval.errors import MachineError
from ....retrieval.records.model_file import State
from ...learning.models import fit_kernel, fit_linear, restore_kernel, restore_linear
from ...settings import Config
from . import Floats, Labels, MemberReader, Model

FORWARDS = False
_MOST = 5_000
"""Statements up to which a machine with a kernel learns, whose time grows with their square."""


class Vectors:
    """The vectors of an encoder; decide by how like they are to those of labelled statements, of many by a weight for
    each dimension.
    """

    def __init__(self, encoder: OnnxEncoder, strengths: tuple[float, ...] = ()) -> None:
        self.strengths = strengths
        self._encoder = encoder

    def features(self, statements: Sequence[Statement]) -> Floats:
        """Return the vector of each text: unit length, shape (len(statements), dimension)."""
        return self._encoder.encode_document([statement.text for statement in statements]).astype(np.float64)

    def fit(self, features: Floats, labels: Labels, weights: Floats, strength: float, seed: int) -> Model:
        """Fit a machine with a kernel or, where there are many statements, a weight for each dimension."""
        if len(labels) <= _MOST:
            return fit_kernel(features, labels, weights, strength)
        return fit_linear(features, labels, weights, strength, seed)

    def state(self) -> State:
        """Return the name of the encoder."""
        return State({"encoder": self._encoder.name, "revision": self._encoder.revision}, {})


def reads(statements: Sequence[Statement], config: Config) -> bool:
    """Return whether the encoder knows the languages of the statements."""
    known = languages(_settings(config).model, config.encoder)
    return not known or {statement.language for statement in statements} <= set(known)


def make(statements: Sequence[Statement], config: Config) -> Vectors:
    """Return the member with the configured encoder; ``auto`` is the multilingual one."""
    return Vectors(open_encoder(_settings(config), layered=True), config.claims.best.strengths)


def restore(member: State, model: State, config: Config) -> MemberReader:
    """Return the reader of its states, with the encoder of its training.

    Raises MachineError if the encoder on this machine is another, ValueError, KeyError or TypeError if these are not
    such states.
    """
    encoder = open_encoder(_settings(config, str(member.settings["encoder"])), layered=True)
    trained = member.settings["encoder"], member.settings["revision"]
    if trained != (encoder.name, encoder.revision):
        raise MachineError(
            f"the model was trained with encoder {trained[0]} ({trained[1]}), configured is {encoder.name} "
            f"({encoder.revision})",
            remedy="set encoder.model, or train again",
        )
    curved = "vectors" in model.tensors
    return MemberReader(Vectors(encoder), restore_kernel(model, None) if curved else restore_linear(model, None))


def _settings(config: Config, trained: str = "") -> EncoderSettings:
    """Return the settings of the encoder that is configured; of ``auto`` the one a model was trained with, else the
    multilingual one or, where that is not installed, the English one.
    """
    if config.encoder.model != AUTO:
        return config.encoder
    bundled = trained if trained in (ENGLISH, MULTILINGUAL) else MULTILINGUAL if _there(MULTILINGUAL) else ENGLISH
    return named(config.encoder, bundled)


def _there(model: str) -> bool:
    try:
        find_model(model)
    except MissingModelError:
        return False
    return True
