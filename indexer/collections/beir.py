"""Collections in BEIR's form: ``corpus.jsonl`` with ``_id``, ``title``, ``text`` and
``metadata``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ...core.records.names import BEIR_DOCUMENTS
from ...core.records.table_shape import wrapper_advice
from . import Files, ReadOptions, Record, dated
from ._documents import make_record, named_fields
from ._files import one_file
from ._tables import read_json_lines

SUMMARY = "a collection in BEIR's form: its folder, or its corpus.jsonl"
WHOLE_FOLDER = True
FILES: tuple[Files, ...] = (("JSON lines", frozenset({"_id", "text"})),)

_ABOUT = ("url", "date", "language", "source", "topic")


@dated
def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
    """Yield the documents of each corpus in the order of its lines.

    The texts ``url``, ``date``, ``language``, ``source`` and ``topic`` in ``metadata`` become
    fields of the document.
    """
    for path in [one_file(source, "corpus.jsonl") for source in sources]:
        for place, entry in read_json_lines(path, options):
            about = entry.get("metadata") or {}
            if "_id" not in entry:
                options.bad_lines.report(place, f"has no '_id'{wrapper_advice(entry)}")
            elif not isinstance(about, dict):
                options.bad_lines.report(place, "'metadata' is not a JSON object")
            elif found := named_fields(
                {name: entry.get(name) for (name,) in BEIR_DOCUMENTS.values()},
                BEIR_DOCUMENTS,
                place,
                options,
            ):
                own = {name: about[name] for name in _ABOUT if isinstance(about.get(name), str)}
                rest = {name: value for name, value in about.items() if name not in own}
                fields = {**found[0], **own}
                if record := make_record(
                    fields, place, options, rest, empty="documents without title and text"
                ):
                    yield record
