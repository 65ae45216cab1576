"""Draw who may import whom, from the table of the architecture test: ``python docs/layers.py`` writes layers.svg."""

from __future__ import annotations

import ast
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FRONT = "factseek"
ABOUT = {FRONT: "commands.py, api.py: the front door, which alone sees all"}
WIDTH, HEIGHT, ROW, MARGIN, GAP = 1060, 124, 180, 20, 24
STYLE = """
  text { font-family: system-ui, sans-serif; fill: #1c2733; text-anchor: middle }
  .name { font-size: 20px; font-weight: 600 } .about { font-size: 13px }
  rect { fill: #eef3f8; stroke: #4a6a8a; stroke-width: 1.5 }
  path { stroke: #4a6a8a; stroke-width: 1.5; fill: none; marker-end: url(#head) } marker path { fill: #4a6a8a }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } rect { fill: #1d2a36; stroke: #8fb0d0 }
    path { stroke: #8fb0d0 } marker path { fill: #8fb0d0 }
  }
"""


def table(root: Path) -> dict[str, set[str]]:
    """Return what each folder may import, as ``tests/test_architecture.py`` holds it, and the front door above all."""
    tree = ast.parse((root / "tests" / "test_architecture.py").read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MAY_IMPORT":
            if not isinstance(node.value, ast.Dict):
                break
            pairs = zip(node.value.keys, node.value.values, strict=True)
            may = {ast.literal_eval(key): _literal_set(value) for key, value in pairs if key is not None}
            return {**may, FRONT: set(may)}
    raise LookupError("tests/test_architecture.py has no MAY_IMPORT")


def _literal_set(node: ast.expr) -> set[str]:
    return set() if isinstance(node, ast.Call) else set(ast.literal_eval(node))


def direct(may: dict[str, set[str]]) -> dict[str, set[str]]:
    """Leave out what follows: an arrow from a to c where there are arrows from a to b and from b to c."""
    return {name: {low for low in lows if not any(low in may[other] for other in lows)} for name, lows in may.items()}


def level(name: str, may: dict[str, set[str]]) -> int:
    """Return how many folders lie below one another under ``name``."""
    return 1 + max((level(low, may) for low in may[name]), default=-1)


def about(name: str, root: Path) -> str:
    """Return what a folder says of itself, in its first sentence."""
    if name in ABOUT:
        return ABOUT[name]
    docstring = ast.get_docstring(ast.parse((root / name / "__init__.py").read_text("utf-8"))) or ""
    return docstring.split(". ")[0].split("\n")[0].rstrip(".")


def columns(may: dict[str, set[str]]) -> dict[str, tuple[float, float]]:
    """Return the stretch of each folder from left to right, 0 to 1: a folder stands over what it alone imports."""
    arrows = direct(may)
    over: dict[str, str] = {}
    for name in sorted(may, key=lambda name: level(name, may), reverse=True):
        for low in sorted(arrows[name]):
            over[low] = name  # the lowest of its importers comes last
    below = {name: [low for low in may if over.get(low) == name and may[low]] for name in may}
    spans: dict[str, tuple[float, float]] = {name: (0.0, 1.0) for name, lows in may.items() if not lows}

    def leaves(name: str) -> int:
        return sum(map(leaves, below[name])) or 1

    def place(name: str, begin: float, share: float) -> None:
        spans[name] = begin, begin + share * leaves(name)
        for low in below[name]:
            place(low, begin, share)
            begin += share * leaves(low)

    place(FRONT, 0.0, 1 / leaves(FRONT))
    return spans


def drawn(root: Path) -> str:
    """Return the picture."""
    may = table(root)
    top = level(FRONT, may)
    inner = WIDTH - 2 * MARGIN + GAP
    boxes = {
        name: (MARGIN + begin * inner, MARGIN + (top - level(name, may)) * ROW, (end - begin) * inner - GAP)
        for name, (begin, end) in columns(may).items()
    }
    parts = [_arrow(boxes[high], boxes[low]) for high, lows in direct(may).items() for low in sorted(lows)]
    parts += [_box(name, *box, about(name, root)) for name, box in boxes.items()]
    height = 2 * MARGIN + top * ROW + HEIGHT
    head = '<marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(_words(may))}">\n<style>{STYLE}</style>\n'
        f'<defs>{head}<path d="M0 0 8 4 0 8z"/></marker></defs>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _words(may: dict[str, set[str]]) -> str:
    return "; ".join(f"{name} imports {', '.join(sorted(lows)) or 'none of the others'}" for name, lows in may.items())


def _box(name: str, left: float, upper: float, width: float, text: str) -> str:
    middle = left + width / 2
    lines = _wrapped(text, int(width / 7.8))
    first = upper + HEIGHT / 2 + 16 - 8.5 * (len(lines) - 1)
    texts = [
        f'<text class="about" x="{middle:g}" y="{first + 17 * at:g}">{escape(line)}</text>'
        for at, line in enumerate(lines)
    ]
    return (
        f'<rect x="{left:g}" y="{upper:g}" width="{width:g}" height="{HEIGHT}" rx="8"/>'
        f'<text class="name" x="{middle:g}" y="{first - 22:g}">{escape(name)}</text>{"".join(texts)}'
    )


def _wrapped(text: str, columns: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) >= columns:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _arrow(high: tuple[float, float, float], low: tuple[float, float, float]) -> str:
    """Draw from the lower edge of one box to the upper edge of another, straight down where both have room."""
    left, right = max(high[0], low[0]), min(high[0] + high[2], low[0] + low[2])
    begin = end = (left + right) / 2
    if left >= right:
        begin, end = high[0] + high[2] / 2, low[0] + low[2] / 2
    return f'<path d="M{begin:g} {high[1] + HEIGHT:g} L{end:g} {low[1]:g}"/>'


if __name__ == "__main__":
    (ROOT / "docs" / "layers.svg").write_text(drawn(ROOT), "utf-8")
    sys.exit(0)
