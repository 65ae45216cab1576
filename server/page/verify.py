"""The tab Verify: the sentences that are relevant to a claim and, if a verdict model is served, its
verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from werkzeug.wrappers import Response

from ...claims.evidence.context import neighbours
from ...claims.evidence.sentences import EvidenceSentence, Finder, stance_of, states_finding
from ...claims.verdicts.verdict import TrainedVerdicts, Verifier
from ...core.domain import Claim, Filter
from ...core.errors import QueryError
from ...core.text import pieces_of, tweet, web_link
from ...retrieval.filters import parse_filter
from ...retrieval.lucene.analysis import highlighter
from ...retrieval.search import federated, listings
from ...retrieval.search.answer import Question
from ...retrieval.search.evidence import Evidence, PassageAnswer
from ...retrieval.search.options import Search
from ..api.rankers import judge_of
from ..call import current_call
from ..errors import BadInput, RefusedError
from ..runtime import ServedIndex
from ..schemas import RequestFields
from ..search import query_errors_named
from .cards import citations, claim_beside, is_in_claim, review_of, title_of
from .exports import ExportedHits, check_format, export_hits
from .forms import ONLY_LINK, is_only_link
from .layout import blueprint, chosen_indexes, page_of, reason_of, short_of, state_parameters
from .notes import show_absent_words
from .state import (
    FORMATS,
    LONGEST_ADDRESS,
    IndexNames,
    Language,
    PageState,
    address_of,
    read_parameters,
)

_LONGEST_QUERY = 1_000  # the most characters of a claim in the link to a document
_EXAMPLES = {
    "en": "Two doses of the MMR vaccine are about 97 percent effective against measles.",
    "ar": "يبلغ طول نهر النيل نحو 6650 كيلومترًا.",
}
_MORE_LIKELY_THAN_NOT = 0.5  # the probability above which the page shows a label as the conclusion
_RRF_K = 60  # the constant of the fusion of the sentences of several indexes
_MOST_SENTENCES = 10  # the maximum number of sentences of several indexes together
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
        served = chosen_indexes(PageState(index=form.index))
        where = parse_filter([], as_of=form.as_of) if form.as_of else None
        judge = judge_of(current_call(), served[0].index, where)
        if form.claim:
            claim = _claim_of(form, served)
            relatedness = _relatedness(claim, where, served)
            if judge and len(served) == 1:
                shown = _judge(claim, *judge[1:], served[0], form)
            else:
                ranked = _rank_sentences(claim, where, served, relatedness)
                shown = {"stances": [("", [_show_sentence(each, claim, form) for each in ranked])]}
            shown |= _remarks_on(claim, served, relatedness, shown["stances"])
            shown["exports"] = _exports(form, served)
        # A model of verdicts knows one index.
        shown |= {"served": served[0], "judge": judge, "several": len(served) > 1}
        shown["example"] = _EXAMPLES.get(served[0].index.info.language, "")
    except (QueryError, RefusedError) as error:
        status, shown = getattr(error, "status", 400), {"problem": reason_of(error)}
    state = PageState(index=form.index, lang=form.lang)
    return page_of(
        "verify.html", state, status, form=form, stance_of=stance_of, formats=FORMATS, **shown
    )


@blueprint.route("/verify/export", methods=["GET", "POST"])
def export_sentences() -> Response:
    """Return the sentences of a claim, in the order of the page, as a download."""
    parameters = state_parameters().copy()
    format = parameters.pop("format", "")
    form = read_parameters(parameters, VerifyState)
    check_format(format)
    if not form.claim:
        raise BadInput("claim", "there is nothing to export: type a claim first")
    served = chosen_indexes(PageState(index=form.index))
    where = parse_filter([], as_of=form.as_of) if form.as_of else None
    claim = _claim_of(form, served)
    relatedness = _relatedness(claim, where, served)
    ranked = _rank_sentences(claim, where, served, relatedness)
    hits = [listings.cited_hit(_hit_of(each), each.served.name) for each in ranked]
    exported = ExportedHits(
        query=form.claim,
        about=form.claim,
        hits=hits,
        related=relatedness.related,
        absent_words=relatedness.absent_words,
    )
    return export_hits(exported, format)


def _claim_of(form: VerifyState, served: Sequence[ServedIndex]) -> Claim:
    """Return the claim of a form; raise BadInput if it is a link, or has no words."""
    if is_only_link(form.claim):
        raise BadInput("claim", ONLY_LINK)
    claim = Claim("claim", tweet(form.claim))
    if not served[0].index.resolve().has_words(claim.text):
        raise BadInput("claim", "the claim contains no words to search for")
    return claim


def _exports(form: VerifyState, served: Sequence[ServedIndex]) -> dict[str, str]:
    """Return the address of each format of the sentences; none if an address would be too long."""
    wanted = msgspec.structs.replace(form, index=[each.name for each in served])
    addresses = {
        name: f"{address_of('page.export_sentences', wanted)}&format={name}" for name in FORMATS
    }
    return addresses if max(map(len, addresses.values())) <= LONGEST_ADDRESS else {}


class RankedSentence(NamedTuple):
    """A sentence with its rank, from 1, and its index."""

    rank: int
    served: ServedIndex
    sentence: EvidenceSentence


class ClaimRelatedness(NamedTuple):
    """Whether the hits of a claim are related to it, the words of the claim that no document
    contains, a note, and the weight of each index by its name.
    """

    related: bool | None
    absent_words: tuple[str, ...]
    note: str
    weights: Mapping[str, float]


def _relatedness(
    claim: Claim, where: Filter | None, served: Sequence[ServedIndex]
) -> ClaimRelatedness:
    """Search for a claim, and return what the search says of its relatedness."""
    call = current_call()
    question = Question(claim.text, Search(where=where), highlight=False)
    notes = [each.index.note(claim.text) for each in served]
    note = "\n".join(dict.fromkeys(filter(None, notes)))
    with query_errors_named(call, "claim"):
        if len(served) == 1:
            answer = served[0].index.answer(question, call.limit())
            return ClaimRelatedness(
                answer.related, answer.absent_words, note, {served[0].name: 1.0}
            )
        indexes = {each.name: each.index for each in served}
        together = federated.answer(
            indexes,
            dict.fromkeys(indexes, question),
            limits={name: call.limit() for name in indexes},
        )
    weights = {name: part.weight for name, part in together.indexes.items()}
    return ClaimRelatedness(together.related, together.absent_words, note, weights)


def _rank_sentences(
    claim: Claim,
    where: Filter | None,
    served: Sequence[ServedIndex],
    relatedness: ClaimRelatedness,
) -> list[RankedSentence]:
    """Return the sentences of all indexes in one ranking.

    The similarities of different encoders cannot be compared, so the ranks are fused.
    """
    call = current_call()
    ranked = []
    for number, each in enumerate(served):
        finder = Finder(each.index, call.serving.config.verdict, where, call.limit())
        with query_errors_named(call, "claim"):
            (evidence,) = finder.find([claim.text])
        weight = relatedness.weights[each.name]
        for rank, sentence in enumerate(evidence.sentences, 1):
            ranked.append((-weight / (_RRF_K + rank), number, rank, each, sentence))
    ranked.sort(key=lambda row: row[:3])
    return [
        RankedSentence(rank, each, sentence)
        for rank, (_, _, _, each, sentence) in enumerate(ranked[:_MOST_SENTENCES], 1)
    ]


def _remarks_on(
    claim: Claim,
    served: Sequence[ServedIndex],
    relatedness: ClaimRelatedness,
    stances: Sequence[tuple[str, Sequence[dict[str, Any]]]],
) -> dict[str, Any]:
    """Return what the template says besides the sentences of each stance."""
    texts = [shown["sentence"].text for _, sentences in stances for shown in sentences]
    return {
        "note": relatedness.note,
        "suited": []
        if len(served) > 1 or relatedness.related
        else current_call().serving.suited_to(claim.text, served[0]),
        "nothing_bears": relatedness.related is False,
        "absent_words": show_absent_words(relatedness.absent_words, texts),
        # A sentence bears on the claim only if nothing speaks against it.
        "bears": relatedness.related is True and not relatedness.absent_words,
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
    of_sentences = zip(verdict.evidence.sentences, verifier.by_each(verdict), strict=True)
    for rank, (sentence, each) in enumerate(of_sentences, 1):
        label = max(each, key=lambda name: each[name])
        sure = each[label] > _MORE_LIKELY_THAN_NOT and states_finding(sentence.text)
        place = RankedSentence(rank, served, sentence)
        shown = _show_sentence(place, claim, form, each[label] if sure else None)
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
    ranked: RankedSentence, claim: Claim, form: VerifyState, share: float | None = None
) -> dict[str, Any]:
    """Return what the template shows of a sentence; ``share`` is the probability of its stance, if
    above one half.
    """
    rank, served, sentence = ranked
    marked = highlighter(claim.text, served.index.terms)
    back = PageState(
        index=form.index, lang=form.lang, query=form.claim[:_LONGEST_QUERY], as_of=form.as_of
    )
    hit = _hit_of(ranked)
    document = served.index.document(sentence.docid)
    around = neighbours(document.text, sentence.start, sentence.end)
    is_claim = is_in_claim(document, sentence.start)
    if hit.claim and not is_claim and around.subject in hit.claim:
        # The claim is shown below: before what was found, it would seem to have been found.
        around = around._replace(subject="")
    return {
        "sentence": sentence,
        "pieces": pieces_of(sentence.text, marked(sentence.text), 0, len(sentence.text)),
        "around": around,
        "title": sentence.title,
        "index": served.name,
        "example": listings.is_example(served.name, document.metadata),
        "address": back.document(served.name, sentence.docid, sentence.number),
        "link": web_link(sentence.url),
        "share": share,
        "review": review_of(document.metadata, hit.kind),
        "is_check": listings.is_fact_check(hit.kind, document.metadata),
        "is_claim": is_claim,
        "claim": hit.claim or "",
        "card": {
            "anchor": f"sentence-{rank}",
            "title": title_of(sentence.title, sentence.text, sentence.docid),
            **citations(served, hit),
        },
    }


def _hit_of(ranked: RankedSentence) -> Evidence:
    """Return a sentence in the form of a hit, whose passage is the sentence."""
    rank, served, sentence = ranked
    document = served.index.document(sentence.docid)
    kind = served.index.addition(sentence.docid).kind
    return Evidence(
        rank=rank,
        docid=sentence.docid,
        score=sentence.score,
        retrievers={},
        title=sentence.title,
        passage=PassageAnswer(
            number=sentence.number,
            start=sentence.start,
            end=sentence.end,
            text=sentence.text,
            highlights=[],
        ),
        url=sentence.url,
        date=sentence.date,
        language=document.language,
        source=sentence.source,
        topic=document.topic,
        claim=claim_beside(document, sentence.text, kind),
        kind=kind,
        metadata=dict(document.metadata),
        index=served.name,
    )
