"""Check that the tests named in each fault find it: ``python tests/faults/check.py [NAME ...]``.

A fault is a patch that says which tests find it. It is applied to a copy of the tree, where these
tests must fail; without it they pass. Properties try the same examples each time.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from shutil import copytree, ignore_patterns

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
LEFT_OUT = ignore_patterns(
    ".git", ".venv*", ".*_cache", ".hypothesis", "indexes", "bench", "build", "dist", "site"
)
FAILED = 1
"""What pytest ends with if a test fails; 0 is that all pass, more than 1 that they were not run."""


def verdict(patch: Path, seconds: float = 600) -> str:
    """Return whether the tests that a patch names find its fault, or why they could not be run."""
    named = re.search(r"^Found by: (.+)$", patch.read_text("utf-8"), re.MULTILINE)
    if named is None:
        return "NOT FOUND: it names no test"
    with tempfile.TemporaryDirectory() as folder:
        # The root of the tree is the package: its parent is where Python looks.
        copy = Path(folder) / "factseek"
        copytree(ROOT, copy, ignore=LEFT_OUT, symlinks=True)
        if subprocess.run(["git", "apply", str(patch)], cwd=copy, check=False).returncode:
            return "NOT FOUND: it does not apply"
        environment = {**os.environ, "PYTHONPATH": folder, "CI": "1"}
        where = [sys.executable, "-c", "import factseek; print(factseek.__file__)"]
        imported = subprocess.run(
            where, cwd=copy, env=environment, capture_output=True, text=True, check=True
        ).stdout
        assert Path(imported.strip()) == copy / "__init__.py", (
            f"the tests would import {imported.strip()}"
        )
        tests = [sys.executable, "-m", "pytest", "-x", "-q", *named[1].split(", ")]
        code = subprocess.run(
            tests, cwd=copy, env=environment, capture_output=True, timeout=seconds, check=False
        )
    return (
        "found" if code.returncode == FAILED else f"NOT FOUND: pytest ended with {code.returncode}"
    )


def main() -> int:
    """Check the faults that are named, else all; return 1 if one is not found."""
    parser = argparse.ArgumentParser(description="check that the tests named in each fault find it")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="faults, without .patch (default: all)"
    )
    there = sorted(path.stem for path in FOLDER.glob("*.patch"))
    names = parser.parse_args().names or there
    if unknown := set(names) - set(there):
        parser.error(f"there is no fault {min(unknown)!r}; there are {', '.join(there)}")
    verdicts = []
    for name in names:
        verdicts.append(verdict(FOLDER / f"{name}.patch"))
        print(f"{name}: {verdicts[-1]}", flush=True)  # noqa: T201
    return int(any(each != "found" for each in verdicts))


if __name__ == "__main__":
    sys.exit(main())
