"""Files that are mapped into memory."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

from factseek.retrieval.store.mapped import mapped

pytestmark = pytest.mark.inner


def mappings(path: Path) -> int:
    return Path("/proc/self/maps").read_text("utf-8").count(f" {path}\n")


def test_a_file_is_mapped_once_for_as_long_as_anybody_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "vectors.f32"
    np.arange(4_096, dtype="<f4").tofile(path)
    row = np.asarray(mapped(path, "<f4", (64, 64)))[1]
    rows = mapped(path, "<f4", (64, 64))
    assert (row == rows[1]).all()
    assert mappings(path) == 1
    del rows
    gc.collect()
    assert row.tolist() == list(range(64, 128))
    del row
    gc.collect()
    assert mappings(path) == 0


def test_another_file_of_the_same_name_is_another(tmp_path: Path) -> None:
    path = tmp_path / "words.u64"
    np.arange(4, dtype="<u8").tofile(path)
    before = mapped(path, "<u8")
    np.arange(4, 8, dtype="<u8").tofile(tmp_path / "beside")
    (tmp_path / "beside").replace(path)
    assert (before.tolist(), mapped(path, "<u8").tolist()) == ([0, 1, 2, 3], [4, 5, 6, 7])


def test_a_file_that_is_cut_is_refused(tmp_path: Path) -> None:
    (tmp_path / "words.u64").write_bytes(b"123456789")
    with pytest.raises(ValueError, match="multiple of the data-type size"):
        mapped(tmp_path / "words.u64", "<u8")
