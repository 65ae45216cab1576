"""The terms of a text that tell it best from others, as Lucene's ``MoreLikeThis`` chooses them.

A term counts as often as the text has it, times the logarithm of how rare it is among the passages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .java import exclusive, java_class


@exclusive
def interesting_terms(reader: Any, analyzer: Any, fields: Sequence[str], text: str, most: int) -> list[str]:
    """Return the ``most`` heaviest terms of ``text`` that two passages or more have, the heaviest first."""
    chooser = java_class("org.apache.lucene.queries.mlt.MoreLikeThis")(reader)
    chooser.setAnalyzer(analyzer)
    chooser.setFieldNames(list(fields))
    chooser.setMinTermFreq(1)
    chooser.setMinDocFreq(2)  # a term of this passage alone finds nothing
    chooser.setMaxQueryTerms(most)
    string_reader = java_class("java.io.StringReader")(text)
    return list(reversed(chooser.retrieveInterestingTerms(string_reader, fields[0])))
