"""Did you mean: the words of a query that are nowhere in an index, each with the word of the index that is meant.

A word is known if it is written anywhere, or a form of it is: if the analyzer makes a term of it that a passage has.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..domain import Filter
from ..index_state import IndexState
from ..languages import unknown_language
from ..manifest import WORDS
from ..spelling import DENIALS, admitted_edits, nearest, words_in

_MOST = 8
"""Misspelt words of a query that are looked into: a text of more is not of this index's language."""


def spellings(state: IndexState, text: str, where: Filter | None) -> Mapping[str, str]:
    """Return the misspelt words of a text, each with the word that is meant, where a passage under the filter has that.

    So the text matches more with it. An index without the view ``words`` knows no words.
    """
    if WORDS not in state.manifest.views:
        return {}
    words = dict.fromkeys(word for word in words_in(text.lower()) if word not in DENIALS)
    unknown = state.unwritten(list(words))
    if not unknown or len(unknown) > _MOST or unknown_language(text, (state.manifest.language,)):
        return {}
    meant = {word: nearest(word, state.words_near(word, admitted_edits(word))) for word in unknown}
    return {word: spelling for word, spelling in meant.items() if spelling and state.has_word(spelling, where)}
