"""Keep answers as they came, in a WARC file, because evidence must not vanish with its page."""

from __future__ import annotations

import gzip
import os
import zlib
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ... import __version__
from ...core.errors import SourceError
from ...core.files import os_errors_reported

if TYPE_CHECKING:
    from .fetching import Fetched

_NOT_KEPT = ("transfer-encoding",)
"""Headers of the connection: the body that a record keeps no longer has this form."""


class Archive:
    """A WARC file to which each answer is added, one record packed with gzip each."""

    def __init__(self, path: Path) -> None:
        """Open a new file, or continue an existing one.

        Raises SourceError if the file has a name that the reader of web pages would not take for an
        archive.
        """
        if not path.name.lower().endswith((".warc.gz", ".warc")):
            raise SourceError(
                "does not end with .warc.gz", place=path, remedy="give the archive such a name"
            )
        _check_existing(path)
        from warcio.warcwriter import WARCWriter

        self.path = path
        with os_errors_reported(path):
            self._file = path.open("ab")
        self._writer: Any = WARCWriter(self._file, gzip=path.name.lower().endswith(".gz"))
        if self._file.tell() == 0:
            facts = {"software": f"factseek/{__version__}", "format": "WARC File Format 1.0"}
            self._write(self._writer.create_warcinfo_record(path.name, facts))

    def add(self, answer: Fetched) -> None:
        """Add an answer."""
        from warcio.statusandheaders import StatusAndHeaders

        kept = [(name, value) for name, value in answer.headers if name.lower() not in _NOT_KEPT]
        reason = answer.reason.encode("ascii", "replace").decode("ascii")
        head = StatusAndHeaders(f"{answer.status} {reason}".strip(), kept, "HTTP/1.1")
        record = self._writer.create_warc_record(
            answer.address,
            "response",
            payload=BytesIO(answer.raw),
            length=len(answer.raw),
            http_headers=head,
            warc_headers_dict={
                "WARC-Record-ID": f"<{answer.record_id}>",
                "WARC-Date": f"{answer.moment:%Y-%m-%dT%H:%M:%SZ}",
            },
        )
        self._write(record)

    def _write(self, record: Any) -> None:
        with os_errors_reported(self.path):
            self._writer.write_record(record)

    def close(self) -> None:
        """Write what is left, and sync the file."""
        with os_errors_reported(self.path):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _check_existing(path: Path) -> None:
    """Raise SourceError if an existing file is no archive that can be continued."""
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        return
    remedy = "give a new file"
    if not path.is_file():
        raise SourceError("is not a regular file", place=path, remedy=remedy)
    try:
        with (gzip.open if path.name.lower().endswith(".gz") else open)(path, "rb") as file:
            if not file.read(5) == b"WARC/":
                raise SourceError("is not a WARC file", place=path, remedy=remedy)
            while file.read(1 << 20):  # to its end: a killed program leaves half a record
                pass
    except (OSError, EOFError, zlib.error):
        what = "is damaged, or not the gzip data that its name says"
        raise SourceError(what, place=path, remedy=remedy) from None
