"""Read Wikipedia pages in FEVER's form: ``wiki-pages`` shards, one page per line, split into
sentences.

The docid is the page's id unchanged (``Domain_Range_Ratio_-LRB-DRR-RRB-``), because FEVER's
evidence uses it. Title and text have normal brackets. Each sentence is a passage that keeps the
number of its line, so a hit is evidence of the form ``[page, line]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ...core.domain import Document, Span
from ...core.records.table_shape import wrapper_advice
from . import Files, ReadOptions, Record
from ._documents import check_docid
from ._files import expand
from ._tables import read_json_lines

SUMMARY = (
    "Wikipedia pages in FEVER's form: wiki-*.jsonl shards or their folder; each sentence a passage"
)
SPLIT = True
SENTENCES = True
FILES: tuple[Files, ...] = (("JSON lines", frozenset({"id", "lines"})),)

_BRACKETS = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "-COLON-": ":",
}
_ESCAPED = re.compile("|".join(_BRACKETS))


def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
    """Yield the pages of each shard in the order of its lines, and a folder's ``wiki-*`` shards by
    name.
    """
    files = expand(sources, (".jsonl",), options)
    named = {path for path in sources if not path.is_dir()}
    # If a folder also contains claims, only its wiki-* files are read.
    shards = [path for path in files if path in named or path.name.startswith("wiki-")]
    for path in shards or files:
        for place, page in read_json_lines(path, options):
            reason = _fault(page)
            if reason:
                options.bad_lines.report(place, reason)
            elif not page["id"]:
                options.leave_out(place, "pages without an id")
            elif record := _record(page, place, options):
                yield record
            else:
                options.leave_out(place, "pages without a sentence")


def readable(text: str) -> str:
    """Return a text with brackets and colons instead of the dump's escapes for them, such as
    ``-LRB-``.
    """
    return _ESCAPED.sub(lambda match: _BRACKETS[match[0]], text)


def sentences(lines: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each sentence in a page's ``lines``, without empty
    sentences.

    A line is ``number TAB sentence TAB links…``, numbered from 0 without a gap. The dump has line
    breaks inside links: a line that does not begin with the next number continues the previous
    line.
    """
    rows: list[str] = []
    for line in lines.split("\n"):
        if line.partition("\t")[0] == str(len(rows)):
            rows.append(line)
        elif rows:
            rows[-1] += f"\n{line}"
    for number, row in enumerate(rows):
        _, _, rest = row.partition("\t")
        sentence = " ".join(rest.partition("\t")[0].split())
        if sentence:
            yield number, sentence


def _fault(page: dict[str, Any]) -> str:
    for name in ("id", "lines"):
        if name not in page:
            return f"has no {name!r}{wrapper_advice(page)}"
        if not isinstance(page[name], str):
            return f"{name!r} is not a string"
    return (check_docid(page["id"]) or "") if page["id"] else ""


def _record(page: dict[str, Any], place: str, options: ReadOptions) -> Record | None:
    numbered = [(number, readable(sentence)) for number, sentence in sentences(page["lines"])]
    if not numbered:
        return None
    ends = list(accumulate((len(text) + 1 for _, text in numbered), initial=0))
    spans = tuple(
        Span(n, start, start + len(text))
        for (n, text), start in zip(numbered, ends[:-1], strict=True)
    )
    language = options.language or "en"
    title = readable(page["id"])
    document = Document(
        docid=page["id"],
        text=" ".join(text for _, text in numbered),
        title=title.replace("_", " "),
        url=f"https://{language}.wikipedia.org/wiki/{quote(title, safe='/:(),_')}",
        language=language,
        source=f"{language}.wikipedia.org",
    )
    return Record(document, place, spans)
