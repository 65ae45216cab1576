"""What a model learned from, as its description names it: files, or data of a Python program."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ...core.files import sha256, storable
from ...retrieval.search.combiner import JudgedFile
from ..run.batch import Judged


def sources_of_files(paths: Sequence[Path]) -> tuple[JudgedFile, ...]:
    """Return the names of files with their SHA-256."""
    return tuple(JudgedFile(name=storable(path.name), sha256=sha256(path)) for path in paths)


def sources_in_memory(judged: Judged) -> tuple[JudgedFile, ...]:
    """Return the SHA-256 of queries and judgements that no file contains.

    An interrupted training of an encoder continues only with the same data, which the checksums
    identify.
    """
    queries = [(query.qid, query.text) for query in judged.queries]
    return (
        JudgedFile(name="queries in memory", sha256=_digest(queries)),
        JudgedFile(name="judgements in memory", sha256=_digest(judged.qrels)),
    )


def _digest(data: object) -> str:
    encoded = msgspec.json.encode(data, enc_hook=int, order="deterministic")
    return hashlib.sha256(encoded).hexdigest()
