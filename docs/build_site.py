"""Build the documentation site: ``python docs/build_site.py [SITE]``; a warning is an error.

The pages of this folder and those of :mod:`reference` go into one tree under ``build/``, which the generator reads. A
link to a file outside of this folder is made one inside, so that the site stands by itself.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import reference

ROOT = Path(__file__).resolve().parent.parent
PROJECT = ROOT / "build" / "site"
TREE = PROJECT / "docs"
COPIED = (".md", ".png", ".svg", ".css")
BLOCKING = ("CHANGELOG.md", "CONTRIBUTING.md")
"""Pages that lie at the top of the project."""

OUTSIDE = re.compile(r"\]\(\.\./([^)#]+)(#[^)]*)?\)")


def main(site: Path) -> int:
    """Write the pages and build the site; return the exit code of the generator."""
    shutil.rmtree(PROJECT, ignore_errors=True)
    TREE.joinpath("reference").mkdir(parents=True)
    for path in sorted((ROOT / "docs").iterdir()):
        if path.suffix in COPIED:
            _copy(path, TREE / path.name)
    for name in BLOCKING:
        _copy(ROOT / name, TREE / name)
    for name, text in reference.pages(ROOT).items():
        (TREE / "reference" / name).write_text(text, "utf-8")
    shutil.copyfile(ROOT / "docs" / "mkdocs.yml", PROJECT / "mkdocs.yml")
    zensical = str(Path(sys.executable).with_name("zensical"))
    done = subprocess.run([zensical, "build", "--strict", "--clean"], cwd=PROJECT, check=False)
    if done.returncode == 0:
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(PROJECT / "site", site)
    return done.returncode


def _copy(path: Path, to: Path) -> None:
    if path.suffix != ".md":
        shutil.copyfile(path, to)
        return
    text = path.read_text("utf-8")
    if path.parent == ROOT:
        text = text.replace("](docs/", "](")
    for name, _ in OUTSIDE.findall(text):
        target = TREE / name
        if (ROOT / name).is_file() and name not in BLOCKING:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)
    to.write_text(OUTSIDE.sub(r"](\1\2)", text), "utf-8")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve() if sys.argv[1:] else ROOT / "site"))
