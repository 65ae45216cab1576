"""The tab Check: which tweets, or sentences of a speech, are worth checking, and why."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec
from flask import request, url_for
from werkzeug.wrappers import Response

from ...core.errors import QueryError
from ...core.languages import written_in
from ...indexer.collections._pages import binary_kind, decode
from ..api.rankers import ranked_claims
from ..call import current_call
from ..errors import BadInput, RefusedError, UnknownRankerError
from ..runtime import registry
from ..schemas import RankAnswer, RankedClaim, RankRequest, RequestFields
from .forms import ONLY_LINK, is_only_link
from .i18n import page_language, translate
from .layout import blueprint, file_of, page_of, reason_of, short_of, state_parameters
from .state import IndexNames, Language, PageState, address_of, read_parameters
from .statements import TRANSCRIPT, TWEETS, kind_of, statements_of

_NOTHING = "There is nothing to check: paste tweets or a transcript into the box, or choose a file"


class CheckState(RequestFields):
    """The request of the tab: the text, and its type, which is detected if empty."""

    text: str = ""
    kind: Literal["", "tweets", "transcript"] = ""
    index: IndexNames = msgspec.field(default_factory=list)
    lang: Language = ""

    @property
    def read_as(self) -> str:
        """The type that the text is read as."""
        return self.kind or kind_of(self.text)

    @property
    def otherwise(self) -> str:
        """The address of the same text, read as the other type."""
        other = TWEETS if self.read_as == TRANSCRIPT else TRANSCRIPT
        return address_of("page.check_page", msgspec.structs.replace(self, kind=other))

    def links_of(self, claim: RankedClaim) -> tuple[str, str]:
        """Return the addresses of a claim's evidence and verdict, in chosen indexes for its script
        or in another.
        """
        indexes, names = registry().indexes, self.index
        chosen = [indexes[name] for name in names if name in indexes] or list(indexes.values())[:1]
        fitting = [
            served.name for served in chosen if written_in(claim.text, served.index.info.language)
        ]
        if len(fitting) < len(chosen):
            names = fitting or registry().suited_to(claim.text, chosen[0])[:1] or names
        shared: dict[str, Any] = {
            name: value for name, value in (("index", names), ("lang", self.lang)) if value
        }
        return (
            url_for("page.search_page", query=claim.text, profile="tweet", **shared),
            url_for("page.verify_page", claim=claim.text, **shared),
        )


@blueprint.route("/check", methods=["GET", "POST"])
def check_page() -> tuple[str, int] | Response:
    """Rank the pasted or uploaded statements by check-worthiness."""
    form = CheckState()
    try:
        form = read_parameters(state_parameters(), CheckState)
        if file := file_of("file"):
            content, name = file.read(), (file.filename or "")[:80]
            if not content.strip():
                raise BadInput("file", f"{name} is empty")
            if kind := binary_kind(content):
                raise BadInput("file", f"{name} is {kind}, not text; send plain text, TSV or CSV")
            form.text = decode(content)
        if request.method == "POST" and not form.text:
            return _page(form, 400, problem=translate(page_language(), _NOTHING))
        if away := short_of(address_of("page.check_page", form)):
            return away
        return _page(form, ranking=_rank(form) if form.text else None)
    except UnknownRankerError:
        return _page(form, absent=True)
    except (QueryError, RefusedError) as error:
        return _page(form, getattr(error, "status", 400), problem=reason_of(error))


def _rank(form: CheckState) -> RankAnswer:
    if is_only_link(form.text):
        raise BadInput("text", ONLY_LINK)
    call = current_call()
    claims = statements_of(form.text, form.read_as, call.serving.config.server.max_claims)
    if not claims:
        raise BadInput("text", "the text contains no statement")
    try:
        return ranked_claims(call, RankRequest(claims=claims))
    except BadInput as error:
        of_one = re.match(r"claims\[(\d+)\]", error.field)
        if of_one is None:
            raise
        advice = (
            "put each statement on its own line, or choose the type “a transcript, sentence by "
            "sentence”"
        )
        raise BadInput(
            "text", f"statement {int(of_one[1]) + 1} {error.unnamed}; {advice}"
        ) from None


def _page(form: CheckState, status: int = 200, **shown: Any) -> tuple[str, int]:
    return page_of(
        "check.html", PageState(index=form.index, lang=form.lang), status, form=form, **shown
    )
