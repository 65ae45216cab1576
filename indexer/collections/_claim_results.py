"""The claims file of CheckThat! 2019: each claim with the web pages that a search found for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from . import ReadOptions
from ._files import BadFileError
from ._lines import parse_json_object, read_lines


class Result(NamedTuple):
    """The entry of a page in the results of a search; ``topic`` is the id of the claim."""

    url: str
    title: str
    topic: str


def is_claims_file(path: Path) -> bool:
    """Return whether the name of ``path`` is that of a JSON file."""
    return path.name.lower().removesuffix(".gz").endswith((".json", ".jsonl"))


def beside(folder: Path) -> list[Path]:
    """Return the claims files that belong to a folder of pages: in its ``claims`` folder, or in one beside it."""
    places = (folder / "claims", folder.resolve().parent / "claims")
    files = (path for place in places if place.is_dir() for path in sorted(place.iterdir()) if path.is_file())
    return [path for path in files if is_claims_file(path) and _speaks_of_pages(path)]


def read_results(path: Path, options: ReadOptions) -> dict[str, Result]:
    """Return the results of all claims of a file (one claim a line) by the id of the page.

    Raises BadFileError if the file cannot be read or no line of it is a claim with results.
    """
    results: dict[str, Result] = {}
    for place, line in read_lines(path, options):
        claim = parse_json_object(line, place, options) if line.strip() else None
        if claim is None:
            continue
        if not _is_claim(claim):
            raise BadFileError(place, 'is not a claim with "claimID" and "results"; pages are HTML, WARC or text')
        results.update(_of_claim(claim))
    return results


def _of_claim(claim: dict[str, Any]) -> Iterator[tuple[str, Result]]:
    """Yield the id of each page of a claim, with its entry in the results."""
    for result in claim["results"]:
        if isinstance(result, dict) and isinstance(result.get("pageID"), str):
            url, title = (str(result.get(key) or "") for key in ("url", "title"))
            yield result["pageID"], Result(url, " ".join(title.split()), claim["claimID"])


def _is_claim(row: Any) -> bool:
    return isinstance(row.get("claimID"), str) and isinstance(row.get("results"), list)


def _speaks_of_pages(path: Path) -> bool:
    """Return whether the first line of a file that the user did not name is a claim with results."""
    options = ReadOptions().silent()
    try:
        _, line = next(read_lines(path, options), ("", ""))
        claim = parse_json_object(line, str(path), options)
    except BadFileError:
        return False
    return claim is not None and _is_claim(claim)
