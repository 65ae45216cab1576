"""Check the prose that people read: ``python .ci/prose.py`` names each long sentence and each
unclear word.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COVERED = (
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md", "config.yaml"),
    *("server/page/texts/ar.json", "tests/frozen/help.json"),
)
"""What is checked: Markdown, JSON tables of texts with one entry per line, and the comments of any
other file.

The keys in ``ar.json`` are the page's English texts; ``help.json`` has the help of every command.
"""
MOST_WORDS = 30
REMEDIES = {
    r"mend(?:s|ed|ing)?": "fix or repair",
    r"stands?|stood": "is, appears or has",
    r"anew": "again",
    r"thrice": "three times",
    r"who(?:so)?ever": "anyone who",
    r"begun|asked|told|held(?!.out)": "a full verb with its subject",
    r"take it as|as a show": "this is a demonstration",
    r"makes? no sense": "is invalid",
    r"beside": "next to, with or compared with",
    r"in (?:the )?place of": "instead of",
    r"near-cop(?:y|ies)": "near-duplicate",
    r"\w+n't": "not",
}
"""Words that a reader stumbles over, and what to write instead."""

UNREAD = re.compile(
    r"^ *```.*?^ *```$|<!-- (\S+): begin -->.*?<!-- \1: end -->|^(?:\||#|<)[^\n]*$", re.M | re.S
)
SPAN = re.compile(r"`[^`]+`")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
BLOCK = re.compile(r"^\s*$|^\s*(?=[-*] |\d+\. )", re.M)
OPTION = re.compile(r"\n\s*\n|\n(?=  \S)")
END = re.compile(r"(?<=[.!?])[*_)\"]*\s+")


def blocks(path: Path) -> Iterator[tuple[int, str]]:
    """Yield each paragraph, list item, text or comment of a file with the number of its line."""
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        text = UNREAD.sub(lambda found: "\n" * found[0].count("\n"), text)
        text = LINK.sub(r"\1", SPAN.sub(lambda found: "code" + "\n" * found[0].count("\n"), text))
        for start, end in pairwise(
            [0, *(found.end() for found in BLOCK.finditer(text)), len(text)]
        ):
            yield text.count("\n", 0, end - len(text[start:end].lstrip())) + 1, text[start:end]
        return
    for number, line in enumerate(text.splitlines(), 1):
        if path.suffix != ".json":
            yield number, line.partition("# ")[2]
        elif '": "' in line:
            pairs = json.loads(f"{{{line.rstrip(',')}}}").items()
            parts = [part for pair in pairs for each in pair for part in OPTION.split(each)]
            yield from ((number, part) for part in parts if not part.startswith("usage:"))


def faults(sentence: str) -> Iterator[str]:
    """Yield what is wrong with a sentence, and the remedy."""
    words = len(re.findall(r"[^\W_][\w'’.,/-]*", sentence))
    if words > MOST_WORDS:
        yield f"a sentence of {words} words: split it"
    for word, remedy in REMEDIES.items():
        yield from (
            f"'{found}': write {remedy}"
            for found in re.findall(rf"\b(?:{word})\b", sentence, re.IGNORECASE)
        )


if __name__ == "__main__":
    found = [
        f"{path.relative_to(ROOT)}:{line}: {fault} ({sentence[:60]} …)\n"
        for path in (path for pattern in COVERED for path in sorted(ROOT.glob(pattern)))
        for line, block in blocks(path)
        for sentence in END.split(" ".join(block.split()))
        for fault in faults(sentence)
    ]
    sys.stdout.writelines(found)
    sys.exit(bool(found))
