"""The tab Check: which tweets, or sentences of a speech, are worth checking, and why."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from flask import request, url_for
from werkzeug.wrappers import Response

from ...core.errors import QueryError
from ...core.languages import written_in
from ...core.text import web_link
from ...indexer.collections._pages import binary_kind, decode
from ...retrieval.search.listings import csv_for_excel, defuse_cell
from ..api.rankers import ranked_claims
from ..call import current_call
from ..downloads import download
from ..errors import BadInput, RefusedError, UnknownRankerError
from ..runtime import registry
from ..schemas import ClaimRequest, RankAnswer, RankedClaim, RankRequest, RequestFields
from .forms import ONLY_LINK, is_only_link
from .i18n import page_language, translate
from .layout import blueprint, file_of, page_of, reason_of, short_of, state_parameters
from .state import IndexNames, Language, PageState, address_of, read_parameters
from .statements import TRANSCRIPT, TWEETS, Spoken, kind_of, statements_of

_FORMATS = {"csv": "CSV", "jsonl": "JSON Lines"}
"""The formats of a file to download, each with its name."""
_NOTHING = "There is nothing to check: paste tweets or a transcript into the box, or choose a file"


class CheckState(RequestFields):
    """The request of the tab: the text, its type, which is detected if empty, and the format of a
    file to download.
    """

    text: str = ""
    kind: Literal["", "tweets", "transcript"] = ""
    format: Literal["", "csv", "jsonl"] = ""
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

    def export(self, format: str) -> str:
        """Return the address of the ranking as a file."""
        wanted = msgspec.structs.replace(self, kind=self.read_as, format=format)
        return address_of("page.check_page", wanted)

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
        return short_of(address_of("page.check_page", form)) or _answer(form)
    except UnknownRankerError:
        return _page(form, absent=True)
    except (QueryError, RefusedError) as error:
        return _page(form, getattr(error, "status", 400), problem=reason_of(error))


def _answer(form: CheckState) -> tuple[str, int] | Response:
    """Return the ranking of the text as a page or a file."""
    if not form.text:
        return _page(form)
    spoken = _read(form)
    ranking = _rank(form, spoken)
    if form.format:
        return _export(form, spoken, ranking)
    ranks = {int(claim.id): claim.rank for claim in ranking.claims}
    return _page(form, ranking=ranking, spoken=spoken, ranks=ranks, formats=_FORMATS)


def _read(form: CheckState) -> list[Spoken]:
    """Return the statements of the text; raise BadInput if it has none, or too many."""
    if is_only_link(form.text):
        raise BadInput("text", ONLY_LINK)
    most = current_call().serving.config.server.max_claims
    spoken = statements_of(form.text, form.read_as, most)
    if not spoken:
        raise BadInput("text", "the text contains no statement")
    return spoken


def _rank(form: CheckState, spoken: Sequence[Spoken]) -> RankAnswer:
    """Return the ranked statements; the id of each is its number in the text, from 1."""
    claims = [
        ClaimRequest(id=str(number), text=statement.text, speaker=statement.speaker)
        for number, statement in enumerate(spoken, 1)
    ]
    try:
        return ranked_claims(current_call(), RankRequest(claims=claims))
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


def _export(form: CheckState, spoken: Sequence[Spoken], ranking: RankAnswer) -> Response:
    """Return the ranking as a file: a table for Excel, or a JSON object a line."""
    rows = [_row_of(claim, spoken[int(claim.id) - 1]) for claim in ranking.claims]
    about = f"worth checking {spoken[0].text}"
    if form.format == "jsonl":
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        return download(lines, "application/x-ndjson", about, "jsonl")
    table = [list(rows[0]), *([_cell_of(value) for value in row.values()] for row in rows)]
    return download(csv_for_excel(table), "text/csv", about, "csv")


def _cell_of(value: str | float | None) -> str:
    """Return a value as a cell: only a text may be a formula, so a negative number stays one."""
    if isinstance(value, str):
        return defuse_cell(value)
    return "" if value is None else str(value)


def _row_of(claim: RankedClaim, spoken: Spoken) -> dict[str, str | int | float | None]:
    """Return a ranked statement as a row, with the fact-check of its claim."""
    checked = claim.checked_before
    return {
        "rank": claim.rank,
        "number": int(claim.id),
        "time": spoken.time,
        "speaker": spoken.speaker,
        "text": claim.text,
        "probability": claim.probability,
        "score": claim.score,
        "language": claim.language,
        "note": claim.note,
        "checked_before": checked.rating if checked else "",
        "checked_by": checked.publisher if checked else "",
        "checked_claim": checked.claim if checked else "",
        "checked_url": checked.url if checked else "",
    }


def _page(form: CheckState, status: int = 200, **shown: Any) -> tuple[str, int]:
    state = PageState(index=form.index, lang=form.lang)
    return page_of("check.html", state, status, form=form, web_link=web_link, **shown)
