"""The tab Check: which of the tweets, or of the sentences of a speech, are worth checking, and why."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from flask import request, url_for
from werkzeug.wrappers import Response

from ...retrieval.errors import QueryError
from ..api.ranking import ranked_claims
from ..contract.answers import RankedClaim
from ..contract.errors import BadInput, RefusedError, UnknownRankerError
from ..contract.requests import ClaimRequest, RankRequest, RequestFields
from ..writing.extracting import uploaded_text
from .shell import blueprint, file_of, page_of, short_of
from .state import PageState, read_parameters
from .statements import TWEETS, statements_of


class CheckState(RequestFields):
    """What the tab was asked: the text, and what it is; ``query`` is its name in the box."""

    text: str = ""
    kind: Literal["tweets", "transcript"] = "tweets"
    index: list[str] = msgspec.field(default_factory=list)
    lang: str = ""

    @property
    def address(self) -> str:
        """The address of what was asked."""
        asked = {name: value for name, value in msgspec.structs.asdict(self).items() if value and value != TWEETS}
        return url_for("page.check_page", **asked)

    def evidence_of(self, claim: RankedClaim) -> str:
        """Return the address of the evidence on a claim."""
        return url_for("page.search_page", query=claim.text, profile="tweet", **self._shared())

    def verdict_on(self, claim: RankedClaim) -> str:
        """Return the address of the verdict on a claim."""
        return url_for("page.verify_page", claim=claim.text, **self._shared())

    def _shared(self) -> dict[str, Any]:
        return {name: value for name, value in (("index", self.index), ("lang", self.lang)) if value}


@blueprint.route("/check", methods=["GET", "POST"])
def check_page() -> tuple[str, int] | Response:
    """Rank what was pasted or uploaded by how far it is worth checking."""
    asked = CheckState()
    try:
        asked = read_parameters(request.values, CheckState, CheckState.__struct_fields__)
        file = file_of("file")
        if file:
            asked.text = uploaded_text(file.read(), file.filename or "")
        away = short_of(asked.address)
        if away:
            return away
        shown = _ranked(statements_of(asked.text, asked.kind)) if asked.text else {}
    except UnknownRankerError:
        return _page(asked, absent=True)
    except (QueryError, RefusedError) as error:
        reason = error.unnamed if isinstance(error, BadInput) else error.line
        return _page(asked, getattr(error, "status", 400), problem=reason)
    return _page(asked, **shown)


def _ranked(claims: list[ClaimRequest]) -> dict[str, Any]:
    if not claims:
        raise BadInput("text", "there is no statement in it")
    return {"ranking": ranked_claims(RankRequest(claims=claims))}


def _page(asked: CheckState, status: int = 200, **shown: Any) -> tuple[str, int]:
    return page_of("check.html", PageState(index=asked.index, lang=asked.lang), status, asked=asked, **shown)
