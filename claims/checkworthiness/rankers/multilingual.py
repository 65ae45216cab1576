"""A network for many languages: a claim head and a language head over a sentence encoder or character n-grams.

For each fold of the training statements, a network is trained on the other folds. The ranker averages the scores of all
networks. Each network also scores the fold that it did not learn from, which gives the cross-validated figures.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ....retrieval.domain import Statement
from ....retrieval.encoders.runtime import OnnxEncoder, open_encoder
from ....retrieval.errors import MachineError
from ....retrieval.progress import Progress
from ....retrieval.records.model_file import State, array, number
from ...learning.folds import average_precision, check_enough, folds
from ...settings import CHARACTERS, Config, MultilingualSettings
from ...text.words import Grams, Hashing, learn_buckets
from . import Trained

SUMMARY = "a network with a claim head and a language head over a multilingual sentence encoder, or over characters"
LEARNS = True

_RARITY = "rarity"


Tensors = Mapping[str, NDArray[np.float32]]
"""Weights by name, as torch names them: a layer's ``weight`` has shape (out, in)."""
Rows = NDArray[np.float32] | Sequence[Grams]
"""The input of a network: the vectors of a sentence encoder, or buckets of character n-grams."""


class Network:
    """A network that scores rows by its claim head: the probability of check-worthiness minus its complement."""

    def __init__(self, tensors: Tensors) -> None:
        self.tensors = tensors

    def check(self, width: int) -> None:
        """Raise ValueError or KeyError if the layers do not fit each other, or rows of ``width``."""
        if "grams.weight" in self.tensors:
            buckets, dimension = self.tensors["grams.weight"].shape
            if buckets != width:
                raise ValueError(f"grams.weight has {buckets} rows, not {width}")
            width = dimension
        for layer in ("shared", "claim.0", "claim.2"):
            if layer != "shared" or "shared.weight" in self.tensors:
                weight, bias = self.tensors[f"{layer}.weight"], self.tensors[f"{layer}.bias"]
                if weight.ndim != 2 or weight.shape[1] != width or bias.shape != weight.shape[:1]:
                    raise ValueError(f"{layer} does not fit the layer before it")
                width = int(weight.shape[0])
        if width != 2:
            raise ValueError("the claim head does not have two outputs")

    def score(self, rows: Rows) -> NDArray[np.float64]:
        """Return a score between -1 and 1 for each row."""
        if not len(rows):
            return np.empty(0)
        if isinstance(rows, np.ndarray):
            layer = np.asarray(rows, dtype=np.float64)
        else:
            table = self.tensors["grams.weight"].astype(np.float64)
            layer = np.stack([(table[buckets] * weights[:, None]).sum(axis=0) for buckets, weights in rows])
        if "shared.weight" in self.tensors:
            layer = np.tanh(self._layer("shared", layer))
        layer = self._layer("claim.2", np.tanh(self._layer("claim.0", layer)))
        return np.asarray(np.tanh((layer[:, 1] - layer[:, 0]) / 2), dtype=np.float64)

    def _layer(self, name: str, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        # A sum by einsum does not depend on the other rows; a matrix product does not promise this.
        weight = self.tensors[f"{name}.weight"].astype(np.float64)
        return np.asarray(np.einsum("ni,oi->no", rows, weight) + self.tensors[f"{name}.bias"])


class TextReading:
    """The reader of the networks' input: vectors of a sentence encoder, or character n-grams."""

    def __init__(self, read: OnnxEncoder | Hashing) -> None:
        self._read = read

    def rows(self, statements: Sequence[Statement]) -> Rows:
        """Return a row for each statement."""
        if isinstance(self._read, Hashing):
            return self._read.rows(statements)
        return self._read.encode_document([statement.text for statement in statements])

    @property
    def width(self) -> int:
        """The length of a vector, or the number of buckets."""
        return len(self._read.rarity) if isinstance(self._read, Hashing) else self._read.dimension

    def state(self) -> State:
        if isinstance(self._read, Hashing):
            return State({"encoder": CHARACTERS, "revision": ""}, {_RARITY: self._read.rarity})
        return State({"encoder": self._read.name, "revision": self._read.revision}, {})


class MultilingualRanker:
    """An ensemble of networks, whose score is their mean."""

    explains = True

    def __init__(self, reading: TextReading, networks: Sequence[Network], slope: float, bias: float) -> None:
        self._reading = reading
        self._networks = networks
        self._slope = slope
        self._bias = bias

    def score(self, statements: Sequence[Statement]) -> NDArray[np.float64]:
        rows = self._reading.rows(statements)
        return np.asarray(np.mean([network.score(rows) for network in self._networks], axis=0))

    def probability(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(1 / (1 + np.exp(-(self._slope * scores + self._bias))))

    def state(self) -> State:
        reading = self._reading.state()
        tensors = {
            f"{place}/{name}": tensor
            for place, network in enumerate(self._networks)
            for name, tensor in network.tensors.items()
        }
        settings = {"networks": len(self._networks), "slope": self._slope, "bias": self._bias}
        return State(settings | reading.settings, tensors | reading.tensors)


def train(statements: Sequence[Statement], config: Config, progress: Progress) -> Trained:
    """Train a network for each fold."""
    from sklearn.linear_model import LogisticRegression

    from ._networks import examples_of
    from ._networks import train as train_network

    settings = config.claims.multilingual
    reading = _reading(settings, config, statements)
    languages = np.array([statement.language for statement in statements])
    known = sorted(set(languages.tolist()))
    parts = np.zeros(len(statements), dtype=np.int64)
    for language in known:  # each language is split separately, so that every fold has a share of it
        rows = np.flatnonzero(languages == language)
        own = [statements[int(row)] for row in rows]
        check_enough(own, language)
        parts[rows] = folds(own, config.claims.folds, config.claims.seed)
    examples = examples_of(reading.rows(statements), statements, known)
    labels = examples.labels
    networks, scores = [], np.zeros(len(statements))
    with closing(progress("training", "network", int(parts.max()) + 1)) as bar:
        for fold in range(int(parts.max()) + 1):
            held = np.flatnonzero(parts == fold)
            rest = examples.taken(np.flatnonzero(parts != fold))
            networks.append(Network(train_network(rest, settings, len(known), config.claims.seed + fold)))
            scores[held] = networks[-1].score(examples.taken(held).rows)
            bar.update(1)
    # Learn from held-out scores how a score becomes log-odds.
    machine: Any = LogisticRegression(C=1e3, max_iter=1000).fit(scores[:, None], labels)
    slope, bias = float(machine.coef_[0, 0]), float(machine.intercept_[0])
    figures = {
        language: {"AP": average_precision(labels[languages == language], scores[languages == language])}
        for language in known
    }
    return Trained(MultilingualRanker(reading, networks, slope, bias), figures)


def restore(state: State, config: Config) -> MultilingualRanker:
    settings = state.settings
    if settings["encoder"] == CHARACTERS:
        reading = TextReading(Hashing(array(state, _RARITY, np.float64, None)))
    else:
        reading = _same_reading(str(settings["encoder"]), config)
    revision = reading.state().settings["revision"]
    if revision != settings["revision"]:
        raise MachineError(
            f"the model was trained with encoder {settings['encoder']} ({settings['revision']}), but on this "
            f"machine its revision is {revision}",
            remedy="train again",
        )
    tensors: dict[str, dict[str, NDArray[np.float32]]] = defaultdict(dict)
    for name in state.tensors.keys() - {_RARITY}:
        place, _, layer = name.partition("/")
        tensors[place][layer] = array(state, name, np.float32, *state.tensors[name].shape)
    if set(tensors) != {str(place) for place in range(len(tensors))} or len(tensors) != settings["networks"]:
        raise ValueError("networks are missing")
    networks = [Network(tensors[str(place)]) for place in range(len(tensors))]
    for network in networks:
        network.check(reading.width)
    return MultilingualRanker(reading, networks, number(state, "slope"), number(state, "bias"))


def _reading(settings: MultilingualSettings, config: Config, statements: Sequence[Statement] = ()) -> TextReading:
    if settings.encoder == CHARACTERS:
        return TextReading(learn_buckets(statements, settings.buckets))
    encoder = msgspec.structs.replace(
        config.encoder, model=settings.encoder, max_tokens=settings.max_tokens, document_prompt="", languages=()
    )
    return TextReading(open_encoder(encoder))


def _same_reading(name: str, config: Config) -> TextReading:
    """Return the reader with the encoder of this name; if it is in a folder, the configuration gives the path."""
    settings = config.claims.multilingual
    if Path(settings.encoder).name != Path(name).name:
        settings = msgspec.structs.replace(settings, encoder=name)
    try:
        return _reading(settings, config)
    except MachineError as error:
        raise MachineError(
            f"{error}", remedy="if you trained the encoder yourself, set claims.multilingual.encoder to its folder"
        ) from None
