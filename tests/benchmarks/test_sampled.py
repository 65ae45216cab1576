"""Collections of any size: the same text for the same number, the same vector for the same text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.data import NOISE, NoisyEncoder, Sampler

REAL = np.random.default_rng(1).standard_normal((5, 384)).astype(np.float32)
REAL /= np.linalg.norm(REAL, axis=1, keepdims=True)


def encoder() -> NoisyEncoder:
    nothing: Any = None  # what searches would ask for; no test does
    return NoisyEncoder(nothing, REAL)


@given(st.lists(st.text(), min_size=1, max_size=20), st.integers(1, 7))
def test_a_text_has_one_vector_in_any_company(texts: list[str], size: int) -> None:
    made = encoder().encode_document(texts)
    streamed = np.concatenate(list(encoder().encode_documents_stream(texts, size)))
    assert np.array_equal(made, streamed)
    assert np.array_equal(made, np.concatenate([encoder().encode_document([text]) for text in texts]))
    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-6)


def test_a_vector_lies_as_near_to_a_real_one_as_is_said() -> None:
    made = encoder().encode_document([f"text {number}" for number in range(500)])
    cosines = (made @ REAL.T).max(axis=1)
    assert abs(cosines.mean() - 1 / np.sqrt(1 + NOISE**2)) < 0.01


@pytest.mark.data
def test_a_number_has_one_text(data_dir: Path, tmp_path: Path) -> None:
    sampler = Sampler(data_dir)
    whole = list(sampler.texts(0, 50))
    assert whole == [*sampler.texts(0, 20), *sampler.texts(20, 30)]
    assert len({text for _, text in whole}) == 50
    path = sampler.write(tmp_path / "some.jsonl", 20, 30)
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [(line["docid"], line["text"]) for line in lines] == whole[20:]
