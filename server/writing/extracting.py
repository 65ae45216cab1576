"""Documents out of what a person pastes or uploads: a text as it is, a web page by its main content."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from ...indexer.collections import ReadOptions, webpages
from ...indexer.collections._pages import binary_kind, decode
from ...indexer.passages import split
from ...retrieval.domain import Document
from ...retrieval.errors import SourceError
from ..contract.errors import BadInput

_LONGEST_SLUG = 60
_UNFIT = re.compile(r"[\W_]+")


def page_document(content: bytes, name: str, language: str) -> Document:
    """Return the main content of a web page, or of a text, as ``factseek index webpages`` reads a file of this name.

    Raises BadInput if it holds none.
    """
    if not content.strip():
        raise BadInput("file", f"{name[:80]} is empty")
    options = ReadOptions(language=language)
    with TemporaryDirectory(prefix="factseek-") as folder:
        suffix = ".txt" if name.lower().endswith(".txt") else ".html"
        path = Path(folder, f"page{suffix}")
        path.write_bytes(content)
        try:
            record = next(iter(webpages.read([path], options)), None)
        except SourceError as error:
            raise BadInput("file", f"{name[:80]} {error.what}") from None
    if record is None:
        reason = next((left.reason for left in options.left_out), "no main content")
        raise BadInput("file", f"{name[:80]} has {reason}; paste its text instead")
    return record.document._replace(docid="")


def uploaded_text(content: bytes, name: str) -> str:
    """Return the text of an uploaded file.

    Raises BadInput if it holds none.
    """
    if not content.strip():
        raise BadInput("file", f"{name[:80]} is empty")
    if kind := binary_kind(content):
        raise BadInput("file", f"{name[:80]} is {kind}, not text; send plain text, TSV or CSV")
    return decode(content)


def docid_of(title: str, url: str, text: str) -> str:
    """Return an id for a document that a person adds: words of its title, and a digest of its address or its text."""
    slug = _UNFIT.sub("-", (title or text)[:_LONGEST_SLUG]).strip("-").lower() or "document"
    return f"{slug}-{hashlib.sha256((url or text).encode('utf-8', 'replace')).hexdigest()[:8]}"


def passages_of(text: str, words: int, overlap: int) -> list[str]:
    """Return a text cut into passages as an index cuts web pages."""
    return [text[span.start : span.end] for span in split(text, words, overlap)]
