"""The languages of tweets: a ranker that learned from English and Spanish, for example, cannot
score Turkish.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...core.domain import Statement
from ...core.errors import SourceError, UsageError
from ...core.languages import identifier, language_code

_READ = 20_000  # the number of characters of a file that decide its language
_NO_WORDS = re.compile(r"(?:https?://|www\.)\S+|[@#]\w+|\d+")


def read_language(written: str) -> str:
    """Return the ISO 639-1 code in the value of ``--language``, ``""`` for none; raise UsageError
    if it is unknown.
    """
    code = language_code(written)
    if written and not code:
        raise UsageError(
            f"--language: {written!r} is not a code of ISO 639",
            remedy="use a code such as en or ar",
        )
    return code


def with_language(statements: Sequence[Statement], language: str = "") -> list[Statement]:
    """Return a file's statements with their language: ``language`` or, if it is empty, detected
    from them all.
    """
    code = language or language_of([statement.text for statement in statements])
    return [statement._replace(language=code) for statement in statements]


def language_of(texts: Sequence[str], among: Sequence[str] = ()) -> str:
    """Return the ISO 639-1 code of the language of texts; one of ``among``, unless it is empty.

    Addresses, mentions, hashtags and numbers do not count.
    """
    if len(among) == 1:
        return among[0]
    read, length = [], 0
    for text in texts:
        read.append(_NO_WORDS.sub(" ", text))
        length += len(text)
        if length > _READ:
            break
    return str(identifier(tuple(among)).classify(" ".join(read))[0])


def check_languages(statements: Sequence[Statement], languages: Sequence[str], source: str) -> None:
    """Raise SourceError if a statement is in none of a ranker's languages; a ranker without
    languages accepts any.
    """
    codes = (statement.language for statement in statements)
    foreign = next((code for code in codes if languages and code not in languages), "")
    if foreign:
        reason = f"is in language {foreign!r}, but the model learned from {', '.join(languages)}"
        remedy = "add a --train file in this language, or give the right language with --language"
        raise SourceError(reason, place=source, remedy=remedy)
