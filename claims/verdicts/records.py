"""Verdicts as they are written for people and programs: one JSON object each, with the sentences that were read."""

from __future__ import annotations

from typing import Any

import msgspec

from ...retrieval.files import storable
from ..evidence.sentences import EvidenceSentence
from .verdict import Verdict


def json_line(verdict: Verdict) -> str:
    """Return a verdict as a JSON line."""
    return msgspec.json.encode(record(verdict)).decode() + "\n"


def record(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as what JSON can hold: probabilities and likeness to four digits, half characters as escapes."""
    return {
        "id": storable(verdict.claim.qid),
        "claim": storable(verdict.claim.text),
        "label": verdict.label,
        "abstained": verdict.abstained,
        "probabilities": {label: round(value, 4) for label, value in verdict.probabilities.items()},
        "evidence": [_sentence(sentence) for sentence in verdict.evidence.sentences],
    }


def _sentence(sentence: EvidenceSentence) -> dict[str, Any]:
    """Return a sentence with its place: ``start`` and ``end`` are characters of the document's text."""
    return {
        "docid": sentence.docid,
        "passage": sentence.number,
        "start": sentence.start,
        "end": sentence.end,
        "text": sentence.text,
        "similarity": round(sentence.similarity, 4),
        "title": sentence.title,
        "url": sentence.url,
        "date": sentence.date,
        "source": sentence.source,
    }
