"""Build the documentation site: ``python docs/build_site.py [SITE]``; a warning is an error.

The pages of this folder and those of :mod:`reference` go into one tree under ``build/``, which the
generator reads. A linked file outside this folder is copied into the tree, so that the site needs
nothing else.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import reference

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PROJECT = ROOT / "build" / "site"
TREE = PROJECT / "docs"
COPIED = (".md", ".png", ".svg", ".css")
ROOT_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md")
LINK = re.compile(r"\]\((?!\w+:)([^)#]+)(#[^)]*)?\)")


def main(site: Path) -> int:
    """Write the pages and build the site; return the exit code of the generator."""
    shutil.rmtree(PROJECT, ignore_errors=True)
    TREE.joinpath("reference").mkdir(parents=True)
    for path in [*sorted(DOCS.rglob("*")), *(ROOT / name for name in ROOT_PAGES)]:
        if path.suffix in COPIED:
            _copy(path)
    for name, text in reference.pages(ROOT).items():
        (TREE / "reference" / name).write_text(text, "utf-8")
    shutil.copyfile(DOCS / "mkdocs.yml", PROJECT / "mkdocs.yml")
    zensical = str(Path(sys.executable).with_name("zensical"))
    done = subprocess.run([zensical, "build", "--strict", "--clean"], cwd=PROJECT, check=False)
    if done.returncode == 0:
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(PROJECT / "site", site)
    return done.returncode


def _copy(path: Path) -> None:
    """Copy a page, with its links made relative to its place in the tree, or any other file as it
    is.
    """
    place = _in_tree(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix != ".md":
        shutil.copyfile(path, place)
        return

    def link(found: re.Match[str]) -> str:
        target = (path.parent / found[1]).resolve()
        copy = _in_tree(target)
        if not target.is_relative_to(DOCS) and target.is_file() and target.name not in ROOT_PAGES:
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(target, copy)
        return f"]({os.path.relpath(copy, place.parent)}{found[2] or ''})"

    place.write_text(LINK.sub(link, path.read_text("utf-8")), "utf-8")


def _in_tree(path: Path) -> Path:
    return TREE / path.relative_to(DOCS if path.is_relative_to(DOCS) else ROOT)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve() if sys.argv[1:] else ROOT / "site"))
