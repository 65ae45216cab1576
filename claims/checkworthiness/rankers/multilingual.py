"""A network for many languages: a claim head and a language head over a sentence encoder or
character n-grams.

The ranker averages networks, one for each fold, that learned from the other folds; the scores of
the left out fold give the cross-validated figures. The design is that of UPV at CheckThat! 2021
("Mitigating Cultural Differences for Identifying Multi-lingual Check-worthy Claims"): the loss of
the language head is added, its gradient is not reversed. Torch trains the networks, and numpy runs
them.

:func:`tune` trains a whole sentence encoder with the two heads, which are not kept.
"""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ....core.domain import Statement
from ....core.errors import MachineError, QueryError
from ....core.files import make_folder_of, saving_reported, sync_tree
from ....core.progress import Progress
from ....core.records.model_file import State, array, number
from ....retrieval.encoders.cache import model_folder
from ....retrieval.encoders.runtime import OnnxEncoder, open_onnx_encoder
from ....retrieval.encoders.sources import find_model
from ...learning.folds import average_precision, check_enough, folds
from ...settings import CHARACTERS, Config, MultilingualSettings
from ...text.words import Hashing, learn_buckets
from . import Trained

LEARNS = True

_RARITY = "rarity"
_DRAWN = 0.1  # the standard deviation of the vectors of character n-grams before training
Reader = OnnxEncoder | Hashing
"""What turns texts into the input rows of a network: a sentence encoder, or hashing of character
n-grams.
"""


class Network:
    """A network that scores rows by its claim head: the probability of check-worthiness minus its
    complement.

    ``tensors`` are its weights by name, as torch names them: a layer's ``weight`` has shape (out,
    in).
    """

    def __init__(self, tensors: Mapping[str, NDArray[np.float32]]) -> None:
        self.tensors = tensors

    def check(self, width: int) -> None:
        """Raise ValueError or KeyError if a layer does not fit the one before it, or rows of
        ``width``.
        """
        if "grams.weight" in self.tensors:
            buckets, dimension = self.tensors["grams.weight"].shape
            if buckets != width:
                raise ValueError(f"grams.weight has {buckets} rows, not {width}")
            width = dimension
        for layer in (*["shared"] * ("shared.weight" in self.tensors), "claim.0", "claim.2"):
            weight, bias = self.tensors[f"{layer}.weight"], self.tensors[f"{layer}.bias"]
            if weight.ndim != 2 or weight.shape[1] != width or bias.shape != weight.shape[:1]:
                raise ValueError(f"{layer} does not fit the layer before it")
            width = int(weight.shape[0])
        if width != 2:
            raise ValueError("the claim head does not have two outputs")

    def score(self, rows: Any) -> NDArray[np.float64]:
        """Return a score between -1 and 1 for each row."""
        layer = rows.astype(np.float64)
        if "grams.weight" in self.tensors:
            layer = layer @ self.tensors["grams.weight"].astype(np.float64)
        if "shared.weight" in self.tensors:
            layer = np.tanh(self._layer("shared", layer))
        layer = self._layer("claim.2", np.tanh(self._layer("claim.0", layer)))
        return np.asarray(np.tanh((layer[:, 1] - layer[:, 0]) / 2), dtype=np.float64)

    def _layer(self, name: str, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        # A sum by einsum does not depend on the other rows; a matrix product does not promise this.
        weight = self.tensors[f"{name}.weight"].astype(np.float64)
        return np.asarray(np.einsum("ni,oi->no", rows, weight) + self.tensors[f"{name}.bias"])


class MultilingualRanker:
    """An ensemble of networks; its score is the mean of their scores."""

    explains = True

    def __init__(
        self, reader: Reader, networks: Sequence[Network], slope: float, bias: float
    ) -> None:
        self._reader, self._networks, self._slope, self._bias = reader, networks, slope, bias

    def score(self, statements: Sequence[Statement]) -> NDArray[np.float64]:
        rows = self._reader.encode_document([statement.text for statement in statements])
        return np.asarray(np.mean([network.score(rows) for network in self._networks], axis=0))

    def probability(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(1 / (1 + np.exp(-(self._slope * scores + self._bias))))

    def state(self) -> State:
        tensors: dict[str, NDArray[Any]] = {
            f"{place}/{name}": tensor
            for place, network in enumerate(self._networks)
            for name, tensor in network.tensors.items()
        }
        if isinstance(self._reader, Hashing):
            tensors[_RARITY] = self._reader.rarity
        settings = {"networks": len(self._networks), "slope": self._slope, "bias": self._bias}
        return State(
            settings | {"encoder": self._reader.name, "revision": self._reader.revision}, tensors
        )


class Examples(NamedTuple):
    """Rows, or texts, with their labels, 0 and 1, and the numbers of their languages."""

    rows: Any
    labels: NDArray[np.int64]
    languages: NDArray[np.int64]

    def take(self, chosen: NDArray[np.intp]) -> Examples:
        """Return the examples at the positions ``chosen``."""
        return Examples(self.rows[chosen], self.labels[chosen], self.languages[chosen])


def _examples(rows: Any, statements: Sequence[Statement], known: Sequence[str]) -> Examples:
    labels = np.array([statement.label for statement in statements], dtype=np.int64)
    languages = np.array(
        [known.index(statement.language) for statement in statements], dtype=np.int64
    )
    return Examples(rows, labels, languages)


def train(statements: Sequence[Statement], config: Config, progress: Progress) -> Trained:
    """Train a network for each fold, on the statements of the other folds."""
    from sklearn.linear_model import LogisticRegression

    settings, seed = config.claims.multilingual, config.claims.seed
    texts = [statement.text for statement in statements]
    reader = (
        learn_buckets(texts, settings.buckets)
        if settings.encoder == CHARACTERS
        else _encoder(settings, config)
    )
    languages = np.array([statement.language for statement in statements])
    known = sorted(set(languages.tolist()))
    parts = np.zeros(len(statements), dtype=np.int64)
    # Each language is split separately, so that every fold has a share of it.
    for language in known:
        rows = np.flatnonzero(languages == language)
        own = [statements[int(row)] for row in rows]
        check_enough(own, language)
        parts[rows] = folds(own, config.claims.folds, seed)
    examples = _examples(reader.encode_document(texts), statements, known)
    labels = examples.labels
    networks, scores = [], np.zeros(len(statements))
    with closing(progress("training", "network", int(parts.max()) + 1)) as bar:
        for fold in range(int(parts.max()) + 1):
            tested = np.flatnonzero(parts == fold)
            rest = examples.take(np.flatnonzero(parts != fold))
            networks.append(_train_network(rest, settings, len(known), seed + fold))
            scores[tested] = networks[-1].score(examples.take(tested).rows)
            bar.update(1)
    # Learn from held-out scores how a score becomes log-odds.
    machine: Any = LogisticRegression(C=1e3, max_iter=1000).fit(scores[:, None], labels)
    slope, bias = float(machine.coef_[0, 0]), float(machine.intercept_[0])
    figures = {
        language: {
            "AP": average_precision(labels[languages == language], scores[languages == language])
        }
        for language in known
    }
    return Trained(MultilingualRanker(reader, networks, slope, bias), figures)


def restore(state: State, config: Config) -> MultilingualRanker:
    settings = state.settings
    if settings["encoder"] == CHARACTERS:
        reader: Reader = Hashing(array(state, _RARITY, np.float64, None))
    else:
        reader = _same_encoder(str(settings["encoder"]), config)
    if reader.revision != settings["revision"]:
        trained = (
            f"the model was trained with encoder {settings['encoder']} ({settings['revision']})"
        )
        raise MachineError(
            f"{trained}, but on this machine its revision is {reader.revision}",
            remedy="train again",
        )
    tensors: dict[str, dict[str, NDArray[np.float32]]] = defaultdict(dict)
    for name in state.tensors.keys() - {_RARITY}:
        place, _, layer = name.partition("/")
        tensors[place][layer] = array(state, name, np.float32, *state.tensors[name].shape)
    if (
        set(tensors) != {str(place) for place in range(len(tensors))}
        or len(tensors) != settings["networks"]
    ):
        raise ValueError("networks are missing")
    networks = [Network(tensors[str(place)]) for place in range(len(tensors))]
    for network in networks:
        network.check(reader.dimension)
    return MultilingualRanker(reader, networks, number(state, "slope"), number(state, "bias"))


def _encoder(settings: MultilingualSettings, config: Config) -> OnnxEncoder:
    encoder = {
        "model": settings.encoder,
        "max_tokens": settings.max_tokens,
        "document_prompt": "",
        "truncate_dim": 0,
        "similarity": "cosine",
        "languages": (),
    }
    return open_onnx_encoder(msgspec.structs.replace(config.encoder, **encoder))


def _same_encoder(name: str, config: Config) -> OnnxEncoder:
    """Return the encoder of this name; if it is in a folder, the configuration gives the path."""
    settings = config.claims.multilingual
    if Path(settings.encoder).name != Path(name).name:
        settings = msgspec.structs.replace(settings, encoder=name)
    try:
        return _encoder(settings, config)
    except MachineError as error:
        remedy = (
            "if you trained the encoder yourself, set claims.multilingual.encoder to its folder"
        )
        raise MachineError(f"{error}", remedy=remedy) from None


def _train_network(
    examples: Examples, settings: MultilingualSettings, languages: int, seed: int
) -> Network:
    """Train one network. The same seed gives the same weights on the same kind of processor."""
    import torch

    threads = torch.get_num_threads()
    torch.manual_seed(seed)
    # One thread adds in one order; a network this small gains little from more threads.
    torch.set_num_threads(1)
    try:
        dense = isinstance(examples.rows, np.ndarray)
        width = examples.rows.shape[1] if dense else settings.dimension
        network = _heads(width, settings, languages, table=not dense)
        _learn(network, examples, settings, seed)
    finally:
        torch.set_num_threads(threads)
    return Network({name: tensor.cpu().numpy() for name, tensor in network.state_dict().items()})


def _learn(network: Any, examples: Examples, settings: MultilingualSettings, seed: int) -> None:
    """Train a network, on an NVIDIA GPU if there is one; the loss is the weighted sum of both
    heads' losses.
    """
    import torch
    from torch.nn.functional import cross_entropy

    device = "cuda" if torch.cuda.is_available() else "cpu"
    network.to(device).train()
    size = len(examples.labels)
    steps = settings.epochs * -(-size // settings.batch)
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
    )
    rise = steps * settings.warmup

    def slope(step: int) -> float:
        """Return the share of the learning rate at a step: a linear rise in the warm-up, then a
        linear fall to 0.
        """
        return (
            (step + 1) / (rise + 1)
            if step < rise
            else max(0.0, (steps - step) / max(1.0, steps - rise))
        )

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, slope)
    order = np.random.default_rng(seed)
    for _ in range(settings.epochs):
        shuffled = order.permutation(size)
        for start in range(0, size, settings.batch):
            batch = examples.take(shuffled[start : start + settings.batch])
            claim, language = network(*_tensors(batch.rows, device))
            loss: Any = settings.claim_weight * cross_entropy(
                claim, torch.from_numpy(batch.labels).to(device)
            )
            if settings.claim_weight < 1:
                lost = cross_entropy(language, torch.from_numpy(batch.languages).to(device))
                loss = loss + (1 - settings.claim_weight) * lost
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), settings.clip)
            optimizer.step()
            schedule.step()


def _tensors(rows: Any, device: str) -> tuple[Any, ...]:
    """Return the input of a network: texts, vectors, or the buckets, starts and weights of a sparse
    matrix.
    """
    import torch

    if rows.dtype == object:
        return (rows.tolist(),)
    dense = isinstance(rows, np.ndarray)
    parts = (
        (rows,)
        if dense
        else (rows.indices.astype(np.int64), rows.indptr[:-1].astype(np.int64), rows.data)
    )
    return tuple(torch.from_numpy(part).to(device) for part in parts)


def _heads(
    width: int, settings: MultilingualSettings, languages: int, *, table: bool = False
) -> Any:
    """Return the two heads and their shared layer, for vectors of ``width`` or, with ``table``, for
    buckets.
    """
    from torch import nn

    def head(inputs: int, classes: int) -> Any:
        return nn.Sequential(
            nn.Linear(inputs, settings.hidden), nn.Tanh(), nn.Linear(settings.hidden, classes)
        )

    class Heads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            if table:
                self.grams = nn.EmbeddingBag(settings.buckets, width, mode="sum")
                # Start near 0: the meaning of character n-grams should come from training, not from
                # chance.
                nn.init.normal_(self.grams.weight, std=_DRAWN)
            if settings.shared:
                self.shared = nn.Linear(width, settings.shared)
            self.dropout = nn.Dropout(settings.dropout)
            self.claim = head(settings.shared or width, 2)
            self.language = head(settings.shared or width, languages)

        def forward(self, rows: Any, starts: Any = None, weights: Any = None) -> tuple[Any, Any]:
            """Return the logits of the claim head, shape (n, 2), and of the language head, shape
            (n, languages).
            """
            vectors = rows if starts is None else self.grams(rows, starts, weights)
            if settings.shared:
                vectors = self.shared(vectors).tanh()
            return self.claim(self.dropout(vectors)), self.language(vectors)

    return Heads()


def tune(statements: Sequence[Statement], config: Config, target: Path) -> None:
    """Train the configured encoder on labelled statements, and write it to the new folder
    ``target``.

    Raises QueryError if the folder exists or the encoder cannot be tuned, MachineError if it is not
    on this machine.
    """
    settings = config.claims.multilingual
    if settings.encoder == CHARACTERS:
        problem = "the encoder 'characters' cannot be trained without its heads"
        raise QueryError(
            problem, place="claims.multilingual.encoder", remedy="give a sentence encoder"
        )
    if target.exists():
        raise QueryError("already exists", place=target, remedy="give a new folder")
    make_folder_of(target)
    # The library's progress bars would also appear in files; set this before the import.
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    from sentence_transformers import SentenceTransformer

    with model_folder(find_model(settings.encoder)) as folder:
        encoder = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    if settings.max_tokens:
        encoder.max_seq_length = min(
            settings.max_tokens, encoder.max_seq_length or settings.max_tokens
        )
    # The heads share the encoder, so they need no shared layer of their own.
    tuning = msgspec.structs.replace(settings, shared=0, **msgspec.structs.asdict(settings.tuning))
    known = sorted({statement.language for statement in statements})
    texts = np.array([statement.text for statement in statements], dtype=object)
    network = _whole_network(encoder, tuning, len(known), config.claims.seed)
    _learn(network, _examples(texts, statements, known), tuning, config.claims.seed)
    encoder.cpu().eval()
    with (
        saving_reported(target.parent),
        tempfile.TemporaryDirectory(prefix=".tune-", dir=target.parent) as scratch,
    ):
        made = Path(scratch) / "encoder"
        encoder.save(str(made))
        sync_tree(made)
        made.rename(target)


def _whole_network(encoder: Any, settings: MultilingualSettings, languages: int, seed: int) -> Any:
    import torch

    torch.manual_seed(seed)
    # The second names are those of sentence-transformers 5; later versions have the first ones.
    width = (
        getattr(encoder, "get_embedding_dimension", None)
        or encoder.get_sentence_embedding_dimension
    )
    read = getattr(encoder, "preprocess", None) or encoder.tokenize

    class Whole(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = encoder
            self.heads = _heads(int(width()), settings, languages)

        def forward(self, texts: Sequence[str]) -> Any:
            inputs = read(list(texts)).items()
            moved = {
                name: value.to(encoder.device) if hasattr(value, "to") else value
                for name, value in inputs
            }
            return self.heads(self.encoder(moved)["sentence_embedding"])

    return Whole()
