"""The tab Check: which of the tweets, or of the sentences of a speech, are worth checking, and why."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec
from flask import request, url_for
from werkzeug.wrappers import Response

from ...indexer.collections._pages import binary_kind, decode
from ...retrieval.errors import QueryError
from ...retrieval.languages import written_in
from ..api.ranking import ranked_claims
from ..contract.answers import RankedClaim
from ..contract.errors import BadInput, RefusedError, UnknownRankerError
from ..contract.requests import ClaimRequest, RankRequest, RequestFields
from ..runtime import registry, suited_indexes
from .shell import blueprint, file_of, page_of, short_of
from .speech import speech
from .state import IndexNames, Language, PageState, read_parameters
from .statements import TRANSCRIPT, TWEETS, kind_of, statements_of

_NOTHING = "There is nothing to check: paste tweets or a transcript into the box, or choose a file"


class CheckState(RequestFields):
    """What the tab was asked: the text, and what it is, which is found out where nobody says it."""

    text: str = ""
    kind: Literal["", "tweets", "transcript"] = ""
    index: IndexNames = msgspec.field(default_factory=list)
    lang: Language = ""

    @property
    def address(self) -> str:
        """The address of what was asked."""
        return url_for("page.check_page", **{k: v for k, v in msgspec.structs.asdict(self).items() if v})

    @property
    def read_as(self) -> str:
        """What the text is read as."""
        return self.kind or kind_of(self.text)

    @property
    def otherwise(self) -> str:
        """The address of the same text, read as what it is not taken for."""
        other: Any = TWEETS if self.read_as == TRANSCRIPT else TRANSCRIPT
        return msgspec.structs.replace(self, kind=other).address

    def evidence_of(self, claim: RankedClaim) -> str:
        """Return the address of the evidence on a claim."""
        return url_for("page.search_page", query=claim.text, profile="tweet", **self._shared(claim))

    def verdict_on(self, claim: RankedClaim) -> str:
        """Return the address of the verdict on a claim."""
        return url_for("page.verify_page", claim=claim.text, **self._shared(claim))

    def _shared(self, claim: RankedClaim) -> dict[str, Any]:
        shared = (("index", _indexes_for(claim.text, self.index)), ("lang", self.lang))
        return {name: value for name, value in shared if value}


@blueprint.route("/check", methods=["GET", "POST"])
def check_page() -> tuple[str, int] | Response:
    """Rank what was pasted or uploaded by how far it is worth checking."""
    asked = CheckState()
    try:
        asked = read_parameters(request.values, CheckState, CheckState.__struct_fields__)
        file = file_of("file")
        if file:
            asked.text = _uploaded_text(file.read(), file.filename or "")
        if request.method == "POST" and not asked.text:
            return _page(asked, 400, problem=speech()(_NOTHING))
        away = short_of(asked.address)
        if away:
            return away
        most = registry().config.server.max_claims
        shown = _ranked(statements_of(asked.text, asked.read_as, most)) if asked.text else {}
    except UnknownRankerError:
        return _page(asked, absent=True)
    except (QueryError, RefusedError) as error:
        reason = error.unnamed if isinstance(error, BadInput) else error.line
        return _page(asked, getattr(error, "status", 400), problem=reason)
    return _page(asked, **shown)


def _ranked(claims: list[ClaimRequest]) -> dict[str, Any]:
    if not claims:
        raise BadInput("text", "there is no statement in it")
    try:
        return {"ranking": ranked_claims(RankRequest(claims=claims))}
    except BadInput as error:
        of_one = re.match(r"claims\[(\d+)\]", error.field)
        if of_one is None:
            raise
        advice = "put each on a line of its own, or have the text read as a transcript"
        raise BadInput("text", f"statement {int(of_one[1]) + 1} {error.unnamed}; {advice}") from None


def _indexes_for(text: str, names: list[str]) -> list[str]:
    """Return the indexes to look for evidence on a text in: those of ``names`` whose language is written like it.

    If none is, the first other one that is; if there is none either, ``names``.
    """
    indexes = registry().indexes
    chosen = [indexes[name] for name in names if name in indexes] or list(indexes.values())[:1]
    fitting = [served.name for served in chosen if written_in(text, served.index.info.language)]
    if len(fitting) == len(chosen):
        return names
    return fitting or suited_indexes(chosen[0], text)[:1] or names


def _page(asked: CheckState, status: int = 200, **shown: Any) -> tuple[str, int]:
    return page_of("check.html", PageState(index=asked.index, lang=asked.lang), status, asked=asked, **shown)


def _uploaded_text(content: bytes, name: str) -> str:
    """Return the text of an uploaded file.

    Raises BadInput if it holds none.
    """
    if not content.strip():
        raise BadInput("file", f"{name[:80]} is empty")
    if kind := binary_kind(content):
        raise BadInput("file", f"{name[:80]} is {kind}, not text; send plain text, TSV or CSV")
    return decode(content)
