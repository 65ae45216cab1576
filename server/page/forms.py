"""What the forms that change an index have in common."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from flask import request

from ...core.text import web_link
from ..errors import RefusedError

_BARE_ADDRESS = re.compile(r"(?:www\.[\w.-]+|[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}/)\S*", re.IGNORECASE)
"""An address as people write it, such as ``www.who.int`` or ``bit.ly/3abcd``."""
ONLY_LINK = (
    "this is only a link, and factseek opens no links; paste the text of the post or of the page"
)
FIELDS = ("title", "text", "url", "date", "source", "language", "topic")
"""The fields of a document that a form has, besides its docid."""


def is_only_link(text: str) -> bool:
    """Return whether a text is one web address and nothing else, with or without its protocol."""
    words = text.split()
    return len(words) == 1 and bool(web_link(words[0]) or _BARE_ADDRESS.fullmatch(words[0]))


def check_sent_from_page() -> None:
    """Raise RefusedError if the form of the current request was sent from another site.

    A browser sends the stored key even with a form of another site.
    """
    site = request.headers.get("Sec-Fetch-Site", "")
    origin = request.headers.get("Origin", "")
    own_origin = not site and origin and urlsplit(origin).netloc == request.host
    if site not in ("same-origin", "none") and not own_origin:
        reason = "this form was not sent from this server's own page"
        raise RefusedError(
            f"{reason}; open the page, and send the form from there", 403, "foreign-form"
        )
