"""The state of the search page: what its address says, and the addresses of the states beside it.

All that is shown depends on the address alone: whatever can be chosen is a plain link, and an address can be sent on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar
from urllib.parse import urlencode

import msgspec
from flask import url_for
from msgspec import Meta
from werkzeug.datastructures import MultiDict

from ...retrieval.config import Count
from ...retrieval.search.query_syntax import PLAIN, QUERY
from ..errors import BadInput
from ..schemas import RequestFields, SearchOptions, explained
from .i18n import LANGUAGES

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

LIST, SIDE = "", "side"
"""The views: one ranking below one heading, or all rankings of an index side by side."""
FOLDED, UNFOLDED = "", "none"
DATE = "date"
NEAR = "near"
LONGEST_ADDRESS = 7_000
"""Characters of an address that a link leads to; what is longer is sent as a form. The engine reads 8,190."""
LONGEST_CHOICES = 8_190
"""Characters that the choices beside a query take in an address: each link holds all of them but its own."""
MOST = {"index": 64, "filter": 200, "stages": 16}
"""The parameters that may be given again, each with how often at most."""
IndexNames = list[Annotated[str, Meta(max_length=64)]]
Language = Annotated[str, Meta(max_length=20)]
_Fields = TypeVar("_Fields", bound=RequestFields)


class PageState(RequestFields):
    """The parameters of the page; an empty one is as good as none."""

    index: IndexNames = msgspec.field(default_factory=list)
    query: str = ""
    like: str = ""
    as_of: str = ""
    since: str = ""
    undated: Literal["", "drop", "keep"] = ""
    profile: Literal["", "plain", "tweet"] = ""
    filter: list[str] = msgspec.field(default_factory=list)
    retriever: Annotated[str, Meta(max_length=80)] = ""
    stages: list[Annotated[str, Meta(max_length=80)]] = msgspec.field(default_factory=list)
    collapse: Literal["", "near", "none"] = ""
    sort: Literal["", "date"] = ""
    view: Literal["", "list", "side"] = ""
    hits: Count = 0
    offset: Count = 0
    passage: Annotated[str, Meta(max_length=9)] = ""
    lang: Language = ""

    @property
    def syntax(self) -> str:
        """How the query is read: a tweet's quotes and colons are text."""
        return PLAIN if self.profile == "tweet" else QUERY

    def address(self, **changes: Any) -> str:
        """Return the address of the state with these changes; another choice begins with the first hits."""
        return url_for("page.search_page", **self.changed(**changes).parameters())

    def changed(self, **changes: Any) -> PageState:
        """Return the state with these changes, at its first hits."""
        return msgspec.structs.replace(self, **{"offset": 0, "passage": "", **changes})

    def document(self, index: str, docid: str, passage: int) -> str:
        """Return the address of a document as it is reached from this state."""
        return url_for("page.document_page", name=index, docid=docid, **{**self.parameters(), "passage": passage})

    def more_like(self, index: str, docid: str) -> str:
        """Return the address of what is like a document of an index."""
        return self.address(query="", like=docid, index=[index], profile="")

    def export(self, format: str) -> str:
        """Return the address of the hits as a file."""
        return url_for("page.export", format=format, **self.changed(view="", hits=0).parameters())

    def parameters(self) -> dict[str, Any]:
        """Return what an address says of the state."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value}

    def toggled(self, field: str, value: str) -> str:
        """Return the address of the state in which a value of a field is chosen, or is no longer."""
        pair = f"{field}={value}"
        others = [chosen for chosen in self.filter if chosen != pair]
        return self.address(filter=others if pair in self.filter else [*others, pair])

    def options(self, index: Index) -> SearchOptions:
        """Return what is asked of a search of ``index``, which folds near-duplicates if it can and nobody minds."""
        folds = self.collapse == NEAR or (self.collapse == FOLDED and index.info.published.has_signatures)
        asked = {
            "as_of": self.as_of,
            "since": self.since,
            "undated": self.undated or "drop",
            "filter": self.filter,
            "profile": self.profile or None,
            "retriever": self.retriever or None,
            "stages": self.stages or None,
            "collapse": NEAR if folds else None,
            "sort": self.sort or None,
            "k": self.hits or None,
        }
        return msgspec.convert(asked, SearchOptions)


SEARCHED = tuple(name for name in PageState.__struct_fields__ if name != "passage")
READ = PageState.__struct_fields__
"""The parameters of the page of hits, and of the page of a document."""


def read_state(parameters: MultiDict[str, str], known: Sequence[str] = SEARCHED) -> PageState:
    """Return the state that an address asks for.

    Raises BadInput, naming the parameter, if the page does not know it, or its value makes no sense.
    """
    state = read_parameters(parameters, PageState, known)
    if state.lang and state.lang not in LANGUAGES:
        raise BadInput("lang", f"{state.lang[:20]!r} is no language of this page; it speaks {' and '.join(LANGUAGES)}")
    _check_length(state)
    return state


def _check_length(state: PageState) -> None:
    """Raise BadInput, naming the longest, if an address cannot hold the choices of a state."""
    lengths = {
        name: len(urlencode({name: value}, doseq=True)) for name, value in state.parameters().items() if name != "query"
    }
    if sum(lengths.values()) > LONGEST_CHOICES:
        longest = max(lengths, key=lengths.__getitem__)
        reason = f"takes {lengths[longest]:,} characters of an address; the options of a query may take"
        raise _named(longest, f"{reason} {LONGEST_CHOICES:,} together; leave some out")


def read_parameters(parameters: MultiDict[str, str], kind: type[_Fields], known: Sequence[str]) -> _Fields:
    """Return the parameters of a page, white space around each taken away and empty ones left out.

    Raises BadInput, naming the parameter, if the page does not know it, or its value makes no sense.
    """
    values: dict[str, Any] = {}
    for name, texts in parameters.lists():
        if name not in known:
            reason = f"there is no parameter {name[:80]!r} on this page; it takes {', '.join(known)}"
            raise BadInput(name[:80], reason)
        filled = [text.strip() for text in texts if text.strip()]
        if len(filled) > MOST.get(name, 1):
            most = f"; at most {MOST[name]} are taken, leave some out" if name in MOST else ""
            raise BadInput(name, f"{name} is given {len(filled):,} times{most}")
        if filled:
            values[name] = filled if name in MOST else filled[0]
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        wrong = explained(error)
        raise _named(wrong.field, wrong.unnamed) from None


def _named(field: str, reason: str) -> BadInput:
    """Return the error of a parameter whose reason names it on a page, too."""
    return BadInput(field, reason, f"{field}: {reason}")
