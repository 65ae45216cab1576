"""The tab Verify: the sentences that are relevant to a claim and, if a verdict model is served, its
verdict.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace
from werkzeug.wrappers import Response

from ...claims.evidence.sentences import EvidenceSentence, Finder, stance_of, states_finding
from ...claims.verdicts.verdict import TrainedVerdicts, Verifier
from ...core.domain import Claim, Filter
from ...core.errors import QueryError
from ...core.text import pieces_of, tweet, web_link
from ...retrieval.filters import parse_filter
from ...retrieval.lucene.analysis import highlighter
from ...retrieval.search import listings
from ...retrieval.search.options import Search
from ..api.rankers import judge_of
from ..call import current_call
from ..errors import BadInput, RefusedError
from ..runtime import ServedIndex
from ..schemas import RequestFields
from ..search import query_errors_named
from .cards import review_of
from .forms import ONLY_LINK, is_only_link
from .layout import blueprint, chosen_indexes, page_of, reason_of, short_of, state_parameters
from .state import IndexNames, Language, PageState, address_of, read_parameters

_LONGEST_QUERY = 1_000  # the most characters of a claim in the link to a document
_EXAMPLES = {
    "en": "Two doses of the MMR vaccine are about 97 percent effective against measles.",
    "ar": "يبلغ طول نهر النيل نحو 6650 كيلومترًا.",
}
_MORE_LIKELY_THAN_NOT = 0.5  # the probability above which the page shows a label as the conclusion
_JUDGED = 10  # the number of first hits to check: the page warns if none of them bears on the claim
_SMALL = 1_000  # a model that learned from fewer claims than this is called small


class VerifyState(RequestFields):
    """The request of the tab: the claim, and the latest date of its evidence."""

    claim: str = ""
    as_of: str = ""
    index: IndexNames = msgspec.field(default_factory=list)
    lang: Language = ""


@blueprint.route("/verify", methods=["GET", "POST"])
def verify_page() -> tuple[str, int] | Response:
    """Show the sentences that are relevant to a claim and, if a verdict model is served, its
    verdict.
    """
    form, status, shown = VerifyState(), 200, dict[str, Any]()
    try:
        form = read_parameters(state_parameters(), VerifyState)
        if away := short_of(address_of("page.verify_page", form)):
            return away
        served = chosen_indexes(PageState(index=form.index[:1]))[0]
        where = parse_filter([], as_of=form.as_of) if form.as_of else None
        judge = judge_of(current_call(), served.index, where)
        if form.claim:
            if is_only_link(form.claim):
                raise BadInput("claim", ONLY_LINK)
            claim = Claim("claim", tweet(form.claim))
            if not served.index.resolve().has_words(claim.text):
                raise BadInput("claim", "the claim contains no words to search for")
            shown = (
                _judge(claim, *judge[1:], served, form)
                if judge
                else _find_sentences(claim, where, served, form)
            )
        shown |= {
            "served": served,
            "judge": judge,
            "example_data": listings.is_example(served.name, {}),
        }
        shown["example"] = _EXAMPLES.get(served.index.info.language, "")
    except (QueryError, RefusedError) as error:
        status, shown = getattr(error, "status", 400), {"problem": reason_of(error)}
    state = PageState(index=form.index, lang=form.lang)
    return page_of("verify.html", state, status, form=form, stance_of=stance_of, **shown)


def _find_sentences(
    claim: Claim, where: Filter | None, served: ServedIndex, form: VerifyState
) -> dict[str, Any]:
    call = current_call()
    limit = call.limit()
    search = Search(k=_JUDGED, where=where)
    with query_errors_named(call, "claim"):
        (evidence,) = Finder(served.index, call.serving.config.verdict, where, limit).find(
            [claim.text]
        )
        (hits,) = served.index.search([claim.text], search, limit)
    weights = served.index.word_weights(claim.text, hits, search)
    return {
        "stances": [
            ("", [_show_sentence(sentence, claim, served, form) for sentence in evidence.sentences])
        ],
        "note": served.index.note(claim.text, replace(search, where=None)),
        "suited": call.serving.suited_to(claim.text, served),
        "nothing_bears": bool(hits)
        and not any(
            served.index.bears(
                claim.text, {part.retriever: part.score for part in hit.parts}, list(words)
            )
            for hit, words in zip(hits, weights, strict=True)
        ),
    }


def _judge(
    claim: Claim, model: TrainedVerdicts, verifier: Verifier, served: ServedIndex, form: VerifyState
) -> dict[str, Any]:
    with query_errors_named(current_call(), "claim"):
        verdict = next(iter(verifier.verify([claim])))
    manifest, likely = (
        model.manifest,
        verdict.probabilities.get(verdict.label, 0) > _MORE_LIKELY_THAN_NOT,
    )
    learned = sum(sum(source.labels.values()) for source in manifest.sources)
    stances: dict[str, list[dict[str, Any]]] = {"for": [], "against": [], "neither": []}
    for sentence, each in zip(verdict.evidence.sentences, verifier.by_each(verdict), strict=True):
        label = max(each, key=lambda name: each[name])
        sure = each[label] > _MORE_LIKELY_THAN_NOT and states_finding(sentence.text)
        shown = _show_sentence(sentence, claim, served, form, each[label] if sure else None)
        stances[stance_of(label) if sure else "neither"].append(shown)
    return {
        "verdict": verdict,
        "conclusion": "none"
        if verdict.abstained
        else stance_of(verdict.label)
        if likely
        else "unsure",
        "stances": [pair for pair in stances.items() if pair[1]],
        "probabilities": sorted(verdict.probabilities.items(), key=lambda pair: -pair[1]),
        "worth": manifest.figures.get(manifest.model) if manifest.figures else None,
        "learned": learned,
        "small": learned < _SMALL,
    }


def _show_sentence(
    sentence: EvidenceSentence,
    claim: Claim,
    served: ServedIndex,
    form: VerifyState,
    share: float | None = None,
) -> dict[str, Any]:
    """Return what the template shows of a sentence; ``share`` is the probability of its stance, if
    above one half.
    """
    marked = highlighter(claim.text, served.index.terms)
    back = PageState(
        index=form.index, lang=form.lang, query=form.claim[:_LONGEST_QUERY], as_of=form.as_of
    )
    return {
        "sentence": sentence,
        "pieces": pieces_of(sentence.text, marked(sentence.text), 0, len(sentence.text)),
        "title": sentence.title,
        "address": back.document(served.name, sentence.docid, sentence.number),
        "link": web_link(sentence.url),
        "share": share,
        "review": review_of(served.index.document(sentence.docid).metadata),
    }
