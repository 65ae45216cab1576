"""Did you mean: the words of a query that are nowhere in an index, each with the word of the index that is meant.

A word is known if it is written anywhere, or a form of it is: if the analyzer makes a term of it that a passage has.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ..domain import Filter
from ..index_state import IndexState
from ..languages import unknown_language
from ..lucene.spelling import admitted_edits, may_be_misspelt, nearest, words_in
from ..manifest import WORDS

_MOST = 8
"""Misspelt words of a query that are looked into: a text of more is not of this index's language."""


def spellings(state: IndexState, text: str, where: Filter | None) -> Mapping[str, str]:
    """Return the misspelt words of a text, each with the word that is meant, where a passage under the filter has that.

    So the text matches more with it. An index without the view ``words`` knows no words.
    """
    if WORDS not in state.manifest.views:
        return {}
    words = words_in(text.lower())
    unknown = [word for word in state.unwritten(list(dict.fromkeys(words))) if may_be_misspelt(word)]
    if not unknown or len(unknown) > _MOST:
        return {}
    is_foreign = partial(unknown_language, text, (state.manifest.language,))
    if 2 * len(unknown) > len(words) and is_foreign():
        return {}
    near = {word: nearest(word, state.words_near(word, admitted_edits(word))) for word in unknown}
    meant = {word: spelling for word, spelling in near.items() if spelling and state.has_word(spelling, where)}
    # To tell the language takes long, and of a few unknown words nothing is mostly to be suggested anyway.
    return {} if meant and is_foreign() else meant
