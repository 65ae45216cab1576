"""The model that tells languages apart, read where it lies: of a text only the rows that its bytes lead to.

py3langid carries its model packed. To unpack it takes half a second, and unpacked it takes 70 MB of each process; so it
is unpacked once, into the user's cache.
"""

from __future__ import annotations

import lzma
import os
import shutil
import weakref
import zipfile
from array import array
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .files import sha256, sync_tree
from .remembered import remembered
from .user_cache import is_own, user_cache

KEPT = 2
"""Models that stay unpacked, of as many versions of py3langid; each has 70 MB."""
_ROWS_REMEMBERED = 2_048
"""Rows of transitions that stay in memory, a kilobyte each: texts lead through some much oftener than others."""
_BYTES = 256
"""Transitions of a row, one for each byte that may follow."""


def stored_identifier(*, probabilities: bool) -> Any:
    """Return py3langid's identifier over the model in the user's cache, which is unpacked there if need be.

    Raises OSError if the cache is not the user's own or cannot be written, ValueError if the model is not laid out as
    it is known to be.
    """
    from py3langid.langid import MODEL_DIR, MODEL_FILE

    packed = Path(MODEL_DIR, MODEL_FILE)
    folder = user_cache("languages") / sha256(packed)[:16]
    try:
        return _opened(folder, probabilities=probabilities)
    except (OSError, ValueError, EOFError):
        _unpack(packed, folder)
        return _opened(folder, probabilities=probabilities)


class _StoredArray:
    """An array in a file of numpy's, whose parts are read when they are asked for."""

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises OSError if it cannot be read, ValueError if it is cut off or of another kind.
        """
        mapped = np.load(path, mmap_mode="r")
        self.shape, self.dtype, self._start = mapped.shape, mapped.dtype, mapped.offset
        self._file = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)

    def stretch(self, first: int, count: int) -> bytes:
        """Return the bytes of so many values of the flat array."""
        size = self.dtype.itemsize
        return os.pread(self._file, count * size, self._start + first * size)


class _Transitions(_StoredArray):
    """The states that bytes lead to, in rows of 256. Safe for threads."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._row = remembered(_ROWS_REMEMBERED, self._read)

    def __getitem__(self, place: int) -> int:
        return self._row(place // _BYTES)[place % _BYTES]

    def _read(self, row: int) -> array[int]:
        return array(self.dtype.char, self.stretch(row * _BYTES, _BYTES))


class _FeatureWeights(_StoredArray):
    """What each feature of a text says of each language, a row a feature. Safe for threads."""

    def __getitem__(self, features: NDArray[np.intp]) -> NDArray[np.float16]:
        width = self.shape[1]
        rows = b"".join([self.stretch(feature * width, width) for feature in features.tolist()])
        return np.frombuffer(rows, dtype=self.dtype).reshape(len(features), width)


def _opened(folder: Path, *, probabilities: bool) -> Any:
    from py3langid.langid import LanguageIdentifier

    if not is_own(folder.stat()):
        raise PermissionError(f"{folder} can be written by others")
    weights, transitions = _FeatureWeights(folder / "ptc.npy"), _Transitions(folder / "nextmove.npy")
    prior, languages, rows, features = (
        np.load(folder / f"{name}.npy") for name in ("pc", "classes", "nextmove_row", "out_feat")
    )
    return LanguageIdentifier(
        weights,
        prior,
        languages.tolist(),
        transitions,
        _compact(features),
        norm_probs=probabilities,
        tk_row=_compact(rows),
    )


def _compact(values: NDArray[np.integer[Any]]) -> array[int]:
    """Return an array as one of Python's: its values are read as fast as a list's, in a tenth of the memory."""
    return array(values.dtype.char, values.tobytes())


def _unpack(packed: Path, folder: Path) -> None:
    """Put the arrays of the model into a folder of the cache, a file each, whole or not at all."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    with TemporaryDirectory(prefix=".unpacked-", dir=folder.parent, ignore_cleanup_errors=True) as scratch:
        made = Path(scratch, "model")
        made.mkdir(mode=0o700)
        with TemporaryFile(dir=scratch) as archive:
            with lzma.open(packed) as source:
                shutil.copyfileobj(source, archive, 1 << 20)
            with zipfile.ZipFile(archive) as arrays:
                arrays.extractall(made)
        sync_tree(made)
        with suppress(OSError):  # another process may have been quicker
            made.rename(folder)
    _remove_oldest(folder.parent)


def _remove_oldest(cache: Path) -> None:
    models = sorted(cache.glob("[!.]*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in models[KEPT:]:
        shutil.rmtree(path, ignore_errors=True)
