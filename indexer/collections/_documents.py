"""What every reader holds a document to."""

from __future__ import annotations

import re

MAX_DOCID_BYTES = 512

# White space would break the columns of a run; Python and trec_eval do not agree on what else splits one.
_UNFIT = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff\ufeff]")


def check_docid(docid: str) -> str | None:
    """Say why ``docid`` cannot name a document, or return ``None`` if it can.

    A docid is not empty, holds no white space and no control character (a run has one a column), and takes
    at most 512 bytes in UTF-8.
    """
    if not docid:
        return "the docid is empty"
    if unfit := _UNFIT.search(docid):
        kind = "white space" if unfit[0].isspace() else "a character that cannot be printed"
        return f"docid {docid[:80]!r} holds {kind}"
    size = len(docid.encode("utf-8"))
    if size > MAX_DOCID_BYTES:
        return f"docid {docid[:40] + '…'!r} takes {size} bytes, more than {MAX_DOCID_BYTES}"
    return None
