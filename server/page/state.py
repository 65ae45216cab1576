"""The state of the search page, as its address describes it, and the addresses of related
states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar
from urllib.parse import urlencode

import msgspec
from flask import url_for
from msgspec import Meta
from werkzeug.datastructures import MultiDict

from ...core.records.validation import mismatch
from ...core.settings import Count
from ...retrieval.search.declared import Option, offered_on
from ...retrieval.search.query_syntax import PLAIN, QUERY
from ..errors import BadInput
from ..schemas import RequestFields, SearchOptions, explain_mismatch
from .i18n import LANGUAGES

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

LIST, SIDE = "", "side"  # the views: a single list, or all rankings of an index side by side
FOLDED, UNFOLDED, NEAR, DATE = "", "none", "near", "date"
# The most characters of a link; a form replaces a longer one. The server reads 8,190.
LONGEST_ADDRESS = 7_000
# The most characters of all choices without the query: each link repeats them.
LONGEST_CHOICES = 8_190
TRUE, FALSE = "true", "false"
FORMATS = {
    "csv": ("CSV", "for spreadsheets"),
    "tsv": ("TSV", "for spreadsheets"),
    "json": ("JSON", "for programs"),
    "ndjson": ("NDJSON", "for programs, one hit per line"),
    "ris": ("RIS", "for reference managers"),
    "bibtex": ("BibTeX", "for LaTeX"),
    "trec": ("TREC", "for evaluation"),
    "jsonld": ("JSON-LD", "for web pages"),
}
"""The formats that the page offers, each with its label and its purpose as English texts of the
page.
"""
IndexNames = list[Annotated[str, Meta(max_length=64)]]
Language = Annotated[str, Meta(max_length=20)]
_Fields = TypeVar("_Fields", bound=RequestFields)


class PlacedState(RequestFields):
    """The parameters that the templates of the page place by hand; an empty parameter counts as
    absent.
    """

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
        """How the query is read: in a tweet, quotes and colons are text."""
        return PLAIN if self.profile == "tweet" else QUERY

    def address(self, **changes: Any) -> str:
        """Return the address of the state with these changes, from the first hits on."""
        return url_for("page.search_page", **self.with_changes(**changes).parameters())

    def with_changes(self, **changes: Any) -> Self:
        """Return the state with these changes, at its first hits."""
        return msgspec.structs.replace(self, **{"offset": 0, "passage": "", **changes})

    def document(self, index: str, docid: str, passage: int | None = None) -> str:
        """Return the address of a document, with this state to come back to."""
        return url_for(
            "page.document_page",
            name=index,
            docid=docid,
            **{**self.parameters(), "passage": passage},
        )

    def export(self, format: str) -> str:
        """Return the address of the hits as a download."""
        return url_for(
            "page.export", format=format, **self.with_changes(view="", hits=0).parameters()
        )

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the state's address."""
        absent = msgspec.structs.asdict(type(self)())
        given = msgspec.structs.asdict(self)
        return {name: value for name, value in given.items() if value != absent[name]}

    def options(self, index: Index) -> SearchOptions:
        """Return the options of a search of ``index``; group near-duplicates if the index and state
        allow.
        """
        folds = self.collapse == NEAR or (
            self.collapse == FOLDED and index.info.published.has_signatures
        )
        given = self.parameters()
        options: dict[str, Any] = {}
        for option in offered_on("page"):
            value = given.get(option.name_on("page"))
            if value is not None:
                options[option.name] = value == TRUE if option.is_truth else value
        return msgspec.convert({**options, "collapse": NEAR if folds else None}, SearchOptions)


def further_options() -> list[Option]:
    """Return the options of a search that no template places by hand."""
    placed = PlacedState.__struct_fields__
    return [option for option in offered_on("page") if option.name_on("page") not in placed]


def _field_of(option: Option) -> tuple[str, Any, Any]:
    """Return the parameter of an option: its name, its type, and the value that means absent."""
    name = option.name_on("page")
    if option.is_list:
        return name, option.annotation, ()
    if option.is_number:
        return name, option.annotation | None, None
    values = values_of(option)
    return name, Literal[("", *values)] if values else option.annotation, ""


def values_of(option: Option) -> tuple[str, ...]:
    """Return the values that the page offers for an option; empty if there are any others."""
    if option.is_truth:
        return (TRUE,) if option.default is False else (TRUE, FALSE)
    return option.choices


if TYPE_CHECKING:

    class PageState(PlacedState):
        """The parameters of the page."""
else:
    PageState = msgspec.defstruct(
        "PageState",
        list(map(_field_of, further_options())),
        bases=(PlacedState,),
        module=__name__,
        kw_only=True,
    )
    """The parameters of the page: those that are placed by hand, and the further options."""
# The parameters that may be repeated, and how often.
MOST = {"index": 64, "filter": 200, "stages": 16}
MOST |= {option.name_on("page"): 16 for option in further_options() if option.is_list}


class PlainState(PageState):
    """The state of a query whose quotation marks are read as text, because as conditions they find
    nothing.
    """

    @property
    def syntax(self) -> str:
        """How the query is read."""
        return PLAIN


def address_of(endpoint: str, state: RequestFields) -> str:
    """Return the address of a page with the filled fields of its state."""
    return url_for(
        endpoint, **{name: value for name, value in msgspec.structs.asdict(state).items() if value}
    )


SEARCHED = tuple(name for name in PageState.__struct_fields__ if name != "passage")
# The parameters of the page of a document; SEARCHED are those of hits.
READ = PageState.__struct_fields__


def read_state(parameters: MultiDict[str, str], known: Sequence[str] = SEARCHED) -> PageState:
    """Return the state of an address; raise BadInput, with the parameter, if it is unknown, invalid
    or too long.
    """
    state = read_parameters(parameters, PageState, known)
    if state.lang and state.lang not in LANGUAGES:
        known = f"the languages are {' and '.join(LANGUAGES)}"
        raise BadInput("lang", f"{state.lang[:20]!r} is not a language of this page; {known}")
    lengths = {
        name: len(urlencode({name: value}, doseq=True))
        for name, value in state.parameters().items()
        if name != "query"
    }
    if sum(lengths.values()) > LONGEST_CHOICES:
        longest = max(lengths, key=lengths.__getitem__)
        most = f"all options together may fill only {LONGEST_CHOICES:,}; leave some out"
        reason = f"fills {lengths[longest]:,} characters of the address, but {most}"
        raise BadInput(longest, reason, f"{longest}: {reason}")
    return state


def read_parameters(
    parameters: MultiDict[str, str], kind: type[_Fields], known: Sequence[str] = ()
) -> _Fields:
    """Return the stripped parameters of a page, without empty ones; raise BadInput as
    :func:`read_state` does.
    """
    values, known = dict[str, Any](), known or kind.__struct_fields__
    for name, texts in parameters.lists():
        if name not in known:
            reason = (
                f"there is no parameter {name[:80]!r} on this page; the parameters are "
                f"{', '.join(known)}"
            )
            raise BadInput(name[:80], reason)
        blanks = " \r\n" if name == "text" else None  # a table may begin with an empty cell
        filled = [text.strip(blanks) for text in texts if text.strip()]
        if len(filled) > MOST.get(name, 1):
            most = f"; give it at most {MOST[name]} times" if name in MOST else ""
            raise BadInput(name, f"{name} is given {len(filled):,} times{most}")
        if filled:
            values[name] = filled if name in MOST else filled[0]
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        wrong = explain_mismatch(mismatch(error), kind)
        # The page has no label for the field.
        raise BadInput(wrong.field, wrong.unnamed, str(wrong)) from None
