"""Compile retrieval/lucene/java to a jar: the same sources and compiler give the same bytes.

Needs javac 17.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile, ZipInfo

LUCENE = Path(__file__).resolve().parents[1] / "retrieval" / "lucene"


def main(jar: Path) -> None:
    """Write the jar.

    Compile against Lucene 9.9 in Pyserini's jar; the classes also run with later versions.
    """
    spec = importlib.util.find_spec("pyserini")
    if spec is None or spec.origin is None:
        raise SystemExit("pyserini is missing; run: make setup")
    (anserini,) = Path(spec.origin).parent.glob("resources/jars/anserini-*-fatjar.jar")
    with TemporaryDirectory() as folder:
        sources = sorted(map(str, (LUCENE / "java").glob("*.java")))
        options = [
            "--release",
            "17",
            "-g:none",
            "-Xlint:all",
            "-Werror",
            "-cp",
            str(anserini),
            "-d",
            folder,
        ]
        # Whichever javac is on the path.
        subprocess.run(["javac", *options, *sources], check=True)  # noqa: S607
        with ZipFile(jar, "w") as archive:
            for path in sorted(Path(folder).rglob("*.class")):
                # No compression and the earliest date of a jar: the bytes depend on neither zlib
                # nor the clock.
                archive.writestr(ZipInfo(path.relative_to(folder).as_posix()), path.read_bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else LUCENE / "factseek.jar")
