"""Build the bundled example indexes, ``example-en`` and ``example-ar``, unless they are there and current."""

from __future__ import annotations

import sys
from pathlib import Path

import factseek
from indexer.sources import describe
from retrieval import manifest as manifests
from retrieval.errors import IndexStateError

HERE = Path(__file__).resolve().parent
INDEXES = HERE.parent / "indexes"

STEPS: dict[str, list[tuple[str, str]]] = {
    "example-en": [("snippets", "snippets-en.tsv"), ("webpages", "pages-en"), ("cord19", "cord19")],
    "example-ar": [("snippets", "snippets-ar.tsv"), ("webpages", "pages-ar")],
}
"""The kinds and sources that make each index, in order."""

OPTIONS = {"example-en": [], "example-ar": ["--language", "ar", "--no-dense"]}


def main(indexes: Path = INDEXES) -> int:
    """Build what is missing in the folder ``indexes``; return the first exit code that is not 0."""
    for name, steps in STEPS.items():
        if _current(indexes / name):
            continue
        for verb, (kind, source) in zip(["--overwrite", "--append", "--append"], steps, strict=False):
            command = ["index", kind, str(HERE / source), "--index", str(indexes / name), verb, *OPTIONS[name]]
            code = factseek.main(command)
            if code:
                return code
    return 0


def _current(index: Path) -> bool:
    """Say whether an index is there and was built from what the sources hold now."""
    try:
        manifest = manifests.read(index)
    except IndexStateError:
        return False
    built = [(segment.kind, segment.sources) for segment in manifest.segments]
    return built == [(kind, describe([HERE / source])) for kind, source in STEPS[index.name]]


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
