"""The ids of the CheckThat! evidence tasks, which say what they belong to."""

from __future__ import annotations

import re

# Topic, page of the topic, snippet of the page: CT20-AR-05-0003-001, CT19-T2-001-09-01.
_ID = re.compile(r"(?P<page>(?P<topic>CT\d\d-[A-Z0-9]+-\d+)-\d+)(?P<snippet>-\d+)?")


def topic_of(docid: str) -> str:
    """Return the topic that the id of a page or a snippet names, or ``""``."""
    match = _ID.fullmatch(docid)
    return match["topic"] if match else ""


def page_of(docid: str) -> str:
    """Return the page that the id of a snippet names, or ``""``."""
    match = _ID.fullmatch(docid)
    return match["page"] if match and match["snippet"] else ""
