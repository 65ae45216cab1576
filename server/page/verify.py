"""The tab Verify: what the evidence says of a claim, sentence by sentence, and what a model makes of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from flask import request, url_for
from werkzeug.wrappers import Response

from ...claims.evidence.sentences import EvidenceSentence, stance_of
from ...claims.verdicts.verdict import Verdict
from ...retrieval.domain import Claim
from ...retrieval.errors import QueryError
from ...retrieval.filters import parse_filter
from ...retrieval.lucene.analysis import highlighter
from ...retrieval.text import Piece, pieces_of, tweet, web_link
from ..api.verdicts import Judge, judge_of, served_verdicts
from ..errors import BadInput, RefusedError
from ..runtime import ServedIndex, registry
from ..schemas import RequestFields
from .cards import is_example, title_of
from .layout import blueprint, chosen_indexes, page_of, reason_of, short_of
from .state import IndexNames, Language, PageState, read_parameters

_LONGEST_QUERY = 1_000
"""Characters of a claim that go with the link to a document, whose matching words are marked."""
_EXAMPLES = {
    "en": "Two doses of the MMR vaccine are about 97 percent effective against measles.",
    "ar": "يبلغ طول نهر النيل نحو 6650 كيلومترًا.",
}
_MORE_LIKELY_THAN_NOT = 0.5
"""A label that is no more likely than all others together is no conclusion for people."""
_SMALL = 1_000
"""A model that learned from fewer claims is called small."""


class VerifyState(RequestFields):
    """What the tab was asked: the claim, and how new its evidence may be."""

    claim: str = ""
    as_of: str = ""
    index: IndexNames = msgspec.field(default_factory=list)
    lang: Language = ""

    @property
    def address(self) -> str:
        """The address of what was asked."""
        return url_for("page.verify_page", **{k: v for k, v in msgspec.structs.asdict(self).items() if v})


class Shown(NamedTuple):
    """A sentence of evidence: its text in pieces, its document and its source as links.

    ``share`` is how likely its stance is by the sentence alone, None where none is more likely than not.
    """

    sentence: EvidenceSentence
    pieces: list[Piece]
    title: str
    address: str
    link: str
    share: float | None


@blueprint.route("/verify", methods=["GET", "POST"])
def verify_page() -> tuple[str, int] | Response:
    """Show the sentences for and against a claim, and the verdict of a model that is served, with its warning."""
    asked = VerifyState()
    try:
        asked = read_parameters(request.values, VerifyState, VerifyState.__struct_fields__)
        away = short_of(asked.address)
        if away:
            return away
        served = chosen_indexes(PageState(index=asked.index[:1]))[0]
        where = parse_filter([], as_of=asked.as_of) if asked.as_of else None
        judge = judge_of(served.index, registry().config, where)
        shown = {} if judge is None else _worth(judge)
        if judge is not None and asked.claim:
            claim = Claim("claim", tweet(asked.claim))
            if not served.index.resolve().has_words(claim.text):
                raise BadInput("claim", "it holds no words to search for")
            verdict = next(iter(judge.verifier.verify([claim])))
            shown |= {
                "verdict": verdict,
                "conclusion": _conclusion(verdict),
                "stances": _stances(verdict, judge, served, asked),
                "probabilities": sorted(verdict.probabilities.items(), key=lambda pair: -pair[1]),
            }
    except (QueryError, RefusedError) as error:
        return page_of("verify.html", PageState(lang=asked.lang), 400, asked=asked, problem=reason_of(error))
    return page_of(
        "verify.html",
        PageState(index=asked.index, lang=asked.lang),
        asked=asked,
        served=served,
        judge=judge,
        stance_of=stance_of,
        example_data=is_example(served.name),
        any_model=bool(served_verdicts()),
        example=_EXAMPLES.get(served.index.info.language, ""),
        **shown,
    )


def _worth(judge: Judge) -> dict[str, Any]:
    """Return from how many claims a model learned, and how good it was found to be."""
    manifest = judge.served.learned.manifest
    learned = sum(sum(source.labels.values()) for source in manifest.sources)
    worth = manifest.figures.get(manifest.model) if manifest.figures else None
    return {"worth": worth, "learned": learned, "small": learned < _SMALL}


def _stances(verdict: Verdict, judge: Judge, served: ServedIndex, asked: VerifyState) -> list[tuple[str, list[Shown]]]:
    """Return the sentences for and against the claim, and those that say neither."""
    marked = highlighter(verdict.claim.text, served.index.terms)
    stances: dict[str, list[Shown]] = {"for": [], "against": [], "neither": []}
    for sentence, each in zip(verdict.evidence.sentences, judge.verifier.by_each(verdict), strict=True):
        label = max(each, key=lambda name: each[name])
        sure = each[label] > _MORE_LIKELY_THAN_NOT
        document = url_for(
            "page.document_page",
            name=served.name,
            docid=sentence.docid,
            passage=sentence.number,
            query=asked.claim[:_LONGEST_QUERY],
        )
        shown = Shown(
            sentence=sentence,
            pieces=pieces_of(sentence.text, marked(sentence.text), 0, len(sentence.text)),
            title=title_of(sentence.title, sentence.text, sentence.docid),
            address=document,
            link=web_link(sentence.url),
            share=each[label] if sure else None,
        )
        stances[stance_of(label) if sure else "neither"].append(shown)
    return [pair for pair in stances.items() if pair[1]]


def _conclusion(verdict: Verdict) -> str:
    """Return what is said above all else: ``unsure`` where the other labels together are as likely as the first."""
    if verdict.abstained:
        return "none"
    return stance_of(verdict.label) if verdict.probabilities[verdict.label] > _MORE_LIKELY_THAN_NOT else "unsure"
