"""An index on a factseek server, as a source for integrations: over HTTP, with Python's standard
library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

import msgspec

from ..core.deadline import losing_hits
from ..core.domain import ScoredDocids
from ..core.errors import FactseekError, MachineError, NotFoundError, QueryError
from ..core.text import PROFILES, has_words
from ..retrieval.search.declared import offered_on
from ..retrieval.search.evidence import Copies, Evidence, PassageAnswer, RetrieverPart
from ..retrieval.search.options import WrittenOptions
from ._choices import pairs_of

_ADDRESS = re.compile(r"https?://[^/?#\s]+(?:/[^/?#\s]+)*/v1/[^/?#\s]+/?")
_KEY = re.compile(r"[!-~]*")
# The limits of one request: a tenth of a server's default limits.
_QUERIES_AT_ONCE, _HITS_AT_ONCE = 100, 100_000
_KINDS: dict[int, type[FactseekError]] = {400: QueryError, 404: NotFoundError, 413: QueryError}
"""The errors that an open index would raise, by the status of a server's answer; others are errors
of the machine.
"""


class _Stay(HTTPRedirectHandler):
    """Follow no redirect, because an API key is meant for one server only."""

    def redirect_request(self, *_: Any) -> None:
        """Refuse the redirect."""


class _Passage(PassageAnswer, kw_only=True, forbid_unknown_fields=False): ...


class _Part(RetrieverPart, kw_only=True, forbid_unknown_fields=False): ...


class _Copies(Copies, kw_only=True, forbid_unknown_fields=False): ...


class _ServedHit(Evidence, kw_only=True, forbid_unknown_fields=False):
    """A hit; fields that a later server version adds are ignored, at any depth."""

    retrievers: dict[str, _Part]  # type: ignore[assignment]
    stages: dict[str, _Part] | msgspec.UnsetType = msgspec.UNSET  # type: ignore[assignment]
    passage: _Passage
    passages: list[_Passage] | msgspec.UnsetType = msgspec.UNSET  # type: ignore[assignment]
    copies: _Copies | msgspec.UnsetType = msgspec.UNSET


class _BatchResult(msgspec.Struct):
    """The answer to one query of a batch: its hits, or in ``detail`` the reason why there are none.

    ``coverage`` has the state of each part of the answer, if one is not complete.
    """

    qid: str
    hits: list[_ServedHit] = []
    detail: str = ""
    coverage: dict[str, str] = {}


class _BatchResults(msgspec.Struct):
    results: list[_BatchResult]


class _Refusal(msgspec.Struct):
    """The part of a problem document that states the error."""

    detail: str = ""


class ServedSource:
    """The index served at ``address`` (``http://HOST:PORT/v1/NAME``); no connection stays open
    between two requests.
    """

    def __init__(self, address: str, *, api_key: str = "", timeout: float = 30.0) -> None:
        """Take the address of the index; ``timeout`` is the longest wait for data from the server,
        in seconds.

        Raises QueryError if ``address`` is not that of a served index, or if the key cannot be
        sent.
        """
        if not (address.isascii() and _ADDRESS.fullmatch(address)):
            remedy = "give http://HOST:PORT/v1/NAME"
            raise QueryError("is not the address of a served index", place=address, remedy=remedy)
        if not _KEY.fullmatch(api_key):
            raise QueryError(
                "the key contains a blank or a character that is not allowed in a header",
                place=address,
            )
        self._address = address.rstrip("/")
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout = timeout
        self._opener = build_opener(_Stay)

    def passages(self, queries: Sequence[str], choices: WrittenOptions) -> list[list[Evidence]]:
        ranked: dict[str, Sequence[Evidence]] = {}
        for chunk in _chunks(queries, choices):
            answer = self._ask(chunk, choices, "application/json")
            try:
                results = msgspec.json.decode(answer, type=_BatchResults).results
                pairs = list(zip(chunk, results, strict=True))
            except (msgspec.DecodeError, ValueError) as error:
                raise self._foreign() from error
            for text, result in pairs:
                if result.detail:
                    raise QueryError(result.detail, place=self._address)
                if late := losing_hits(
                    part for part, state in result.coverage.items() if state != "complete"
                ):
                    reason = f"{', '.join(late)} took too long, so the hits would be incomplete"
                    raise MachineError(reason, place=self._address, remedy="try again")
                ranked[text] = result.hits
        return [list(ranked.get(query, ())) for query in queries]

    def columns(self, queries: Sequence[str], choices: WrittenOptions) -> list[ScoredDocids]:
        ranked: dict[str, ScoredDocids] = {}
        for chunk in _chunks(queries, choices):
            for line in self._ask(chunk, choices, "text/plain").decode().splitlines():
                try:
                    number, _, docid, _, score, _ = line.split(" ")
                    ranking = ranked.setdefault(chunk[int(number)], ScoredDocids([], []))
                    ranking.scores.append(float(score))
                except (ValueError, IndexError) as error:
                    raise self._foreign() from error
                ranking.docids.append(docid)
        return [ranked.get(query, ScoredDocids([], [])) for query in queries]

    def close(self) -> None:
        """Do nothing: no connection stays open."""

    def _foreign(self) -> MachineError:
        return MachineError(
            "does not answer as factseek does", place=self._address, remedy="check the address"
        )

    def _ask(self, queries: Sequence[str], choices: WrittenOptions, accept: str) -> bytes:
        """Return the answer to a batch; the qid of each query is the query's position."""
        # Replace a lone surrogate (half a character, as in a text that was cut), as an index in a
        # folder does.
        texts = (text.encode("utf-8", "replace").decode("utf-8") for text in queries)
        numbered = [{"qid": str(number), "text": text} for number, text in enumerate(texts)]
        headers = {"Content-Type": "application/json", "Accept": accept, **self._headers}
        named: dict[str, Any] = {}
        for option in offered_on("libraries"):
            value = getattr(choices, option.name)
            if option.name == "filter":
                value = list(pairs_of(choices))
            if value not in (option.default, None, ""):
                named[option.name] = value
        content = msgspec.json.encode({"queries": numbered, **named})
        # The scheme of the address is http or https: see _ADDRESS.
        request = Request(f"{self._address}/search/batch", content, headers)  # noqa: S310
        try:
            with self._opener.open(request, timeout=self._timeout) as answer:
                body: bytes = answer.read()
                failed = answer.headers.get("X-Failed-Queries", "0")
        except HTTPError as error:
            with error:
                raise _error_in(error, self._address) from None
        except (URLError, OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise MachineError(
                f"cannot be reached: {reason or type(error).__name__}", place=self._address
            ) from error
        if failed != "0":
            raise QueryError(
                f"{failed} of {len(queries)} queries could not be answered", place=self._address
            )
        return body


def _chunks(queries: Sequence[str], choices: WrittenOptions) -> Iterator[Sequence[str]]:
    """Yield the distinct queries that contain words to search for, in chunks of one request
    each.
    """
    profile = PROFILES.get(choices.profile or "plain", str)
    texts = [query for query in dict.fromkeys(queries) if has_words(profile(query))]
    size = max(1, min(_QUERIES_AT_ONCE, _HITS_AT_ONCE // max(1, choices.k or 1)))
    return (texts[start : start + size] for start in range(0, len(texts), size))


def _error_in(answer: HTTPError, address: str) -> FactseekError:
    try:
        detail = msgspec.json.decode(answer.read(), type=_Refusal).detail
    except (msgspec.DecodeError, OSError, HTTPException):
        detail = ""
    wait = answer.headers.get("Retry-After", "")
    remedy = f"try again after {wait} s" if wait else ""
    kind = _KINDS.get(answer.code, MachineError)
    return kind(detail or f"answers {answer.code} {answer.reason}", place=address, remedy=remedy)
