"""Find the regular expressions whose time grows faster than the text: ``python -m benchmarks.fuzz_patterns``.

Each expression is tried with texts made of its own parts: characters it takes, repeated and in pairs, beginnings of
what it matches, repeated, and such a beginning before them. Each is matched in a process of its own, which is ended
after ``SECONDS``. A method is tried if the module that has the expression uses it, or hands the expression on. All take
about ten minutes. Loops around the expressions, and the expressions of libraries, are not looked at.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import inspect
import json
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any, NamedTuple

from factseek.retrieval.terminal import say, write

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = "retrieval indexer server eval claims cluster integrations".split()
SECONDS = 60.0
"""After which the process of an expression is ended; half is for all of its texts, the rest for the last of them."""
CHARACTERS = 4_000
"""Of the shortest text; the others are twice and four times as long."""
QUICK = 0.25e-6
"""Seconds a character: what takes less at the shortest length is not timed at the others."""
SUSPECT = 2.8
"""Growth over two doublings each, above which time is not in proportion to length."""
METHODS = {"search": "finditer", "finditer": "finditer", "findall": "finditer", "sub": "finditer", "subn": "finditer"}
METHODS |= {"split": "finditer", "match": "match", "fullmatch": "fullmatch"}
_SHOWN = {
    codes.CATEGORY_DIGIT: "7٣",
    codes.CATEGORY_NOT_DIGIT: "a ",
    codes.CATEGORY_SPACE: " \n\t",
    codes.CATEGORY_NOT_SPACE: "a.",
    codes.CATEGORY_WORD: "aZ7_",
    codes.CATEGORY_NOT_WORD: " .-",
}
_HARMLESS = {
    "eval.files.answers._ITEM": "reads only what _LIST has matched whole",
    "indexer.collections._dates._PATTERNS": "used with fullmatch alone",
    "indexer.collections._pages._META_CHARSET": "reads the first 4,096 bytes of a page alone",
}
"""Expressions that grow faster than a text that they never meet, and why they do not meet it."""
_ANY = "a \n.7A<\"'&-é中"
_TAILS = ("", "\x00", "a", "A", "7", " a", "\n", "<", "!")


class Expression(NamedTuple):
    """A regular expression, where it stands, and the methods that it is used with."""

    place: str
    pattern: str | bytes
    flags: int
    methods: tuple[str, ...]


def modules() -> Iterator[ModuleType]:
    """Yield the modules of the package, but those whose libraries are not installed."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if parts[-1] == "__main__":
                continue
            name = ".".join(("factseek", *parts)).removesuffix(".__init__")
            try:
                yield importlib.import_module(name)
            except ImportError as error:
                say(f"{name}: not looked at ({error})")


def expressions() -> list[Expression]:
    """Return the expressions of the package: values of modules and classes, and those written in calls of ``re``.

    Those of ``_HARMLESS`` are left out.
    """
    known: dict[tuple[str | bytes, int], tuple[str, set[str]]] = {}
    loaded = list(modules())
    for module in loaded:
        short = module.__name__.removeprefix("factseek.")
        tree = ast.parse(inspect.getsource(module))
        uses = _uses(tree)
        for line, text, method in _written(tree):
            known.setdefault((text, re.compile(text).flags), (f"{short}:{line}", set()))[1].add(method)
        for name, value in list(vars(module).items()):
            if name.startswith("__") or f"{short}.{name}" in _HARMLESS:
                continue
            for pattern in _patterns(value, module):
                methods = uses[name] | uses[f"{name}()"] or {"finditer"}
                known.setdefault((pattern.pattern, pattern.flags), (f"{short}.{name}", set()))[1].update(methods)
    return sorted(Expression(place, *key, tuple(sorted(methods))) for key, (place, methods) in known.items())


def _uses(tree: ast.AST) -> dict[str, set[str]]:
    """Return the methods that a module uses of each name; a name that it hands on may be used in any way."""
    uses: dict[str, set[str]] = defaultdict(set)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in METHODS:
            uses[_name(node.value)].add(METHODS[node.attr])
        elif isinstance(node, ast.Call):
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                uses[_name(argument)].add("finditer")
    return uses


def _written(tree: ast.AST) -> Iterator[tuple[int, str | bytes, str]]:
    """Yield the line, the expression and the method of each call of ``re`` with a literal."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        argument, method = node.args[0], METHODS.get(node.func.attr)
        if method and _name(node.func.value) == "re" and isinstance(argument, ast.Constant):
            yield node.lineno, argument.value, method


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return f"{_name(node.func)}()"
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _patterns(value: Any, module: ModuleType) -> Iterator[re.Pattern[Any]]:
    """Yield the expressions that a value of a module is or holds, or that a function without parameters returns."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, (list, tuple, set, frozenset)):
        for part in value:
            yield from _patterns(part, module)
    elif isinstance(value, dict):
        for part in (*value, *value.values()):
            yield from _patterns(part, module)
    elif getattr(value, "__module__", "") == module.__name__:
        if isinstance(value, type):
            yield from (part for part in vars(value).values() if isinstance(part, re.Pattern))
        elif "Pattern" in str(getattr(value, "__annotations__", {}).get("return")) and not (
            inspect.signature(value).parameters
        ):
            yield from _patterns(value(), module)


def texts(pattern: str | bytes, flags: int, length: int) -> Iterator[str]:
    """Yield texts of about a length that an expression may take long for."""
    tree = parser.parse(pattern, flags & ~re.DEBUG)
    atoms = list(dict.fromkeys([*_atoms(tree), *"a .<"]))[:24]
    heads = list(dict.fromkeys(head for most in (0, 1, 2) for head in _beginnings(tree, most)))
    heads = [head for head in heads if head][:60]
    bodies = dict.fromkeys([*atoms, *(first + second for first in atoms for second in atoms), *heads])
    for body in bodies:
        repeated = body * (length // len(body))
        for tail in _TAILS:
            yield repeated + tail
    for head in dict.fromkeys([*heads, "a"]):
        for body in dict.fromkeys([*atoms, *_words(tree)]):
            repeated = body * (length // len(body))
            for tail in ("", "\x00", "a"):
                yield head + repeated + tail


def _atoms(tree: Any) -> Iterator[str]:
    """Yield characters that the parts of an expression take, each part's first ones first."""
    for code, value in tree:
        if code is codes.LITERAL:
            yield chr(value)
        elif code is codes.NOT_LITERAL:
            yield from (letter for letter in _ANY if ord(letter) != value)
            yield chr(value)
        elif code is codes.ANY:
            yield "a"
        elif code is codes.IN:
            yield from _members(value)
        else:
            for part in _parts(code, value):
                yield from _atoms(part)


def _words(tree: Any) -> Iterator[str]:
    """Yield the runs of two literals or more in the parts of an expression."""
    run = ""
    for code, value in [*tree, (None, None)]:
        if code is codes.LITERAL:
            run += chr(value)
            continue
        if len(run) > 1:
            yield run
        run = ""
        for part in _parts(code, value):
            yield from _words(part)


def _members(members: Any) -> list[str]:
    """Return some characters that a class takes, and some that it does not if it is a negated one."""
    listed = list[str]()
    for code, value in members:
        if code is codes.LITERAL:
            listed.append(chr(value))
        elif code is codes.RANGE:
            listed.append(chr(value[0]))
        elif code is codes.CATEGORY:
            listed += _SHOWN[value]
    if members[0][0] is codes.NEGATE:
        return [*(letter for letter in _ANY if letter not in listed), *listed]
    return listed


def _parts(code: Any, value: Any) -> list[Any]:  # noqa: PLR0911  one a kind
    if code is codes.SUBPATTERN:
        return [value[3]]
    if code is codes.BRANCH:
        return list(value[1])
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return [value[2]]
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [value[1]]
    if code is codes.ATOMIC_GROUP:
        return [value]
    if code is codes.GROUPREF_EXISTS:
        return [part for part in value[1:] if part]
    return []


def _beginnings(tree: Any, most: int) -> list[str]:
    """Return the beginnings of an example of what an expression matches, with up to ``most`` of what may repeat."""
    text, cuts = "", list[str]()
    for code, value in tree:
        if code is codes.LITERAL:
            text += chr(value)
        elif code is codes.NOT_LITERAL:
            text += next(letter for letter in _ANY if ord(letter) != value)
        elif code is codes.ANY:
            text += "a"
        elif code is codes.IN:
            text += _members(value)[0]
        elif code is codes.BRANCH:
            inner = [_beginnings(branch, most) for branch in value[1]]
            cuts += [text + cut for each in inner for cut in each]
            text += inner[0][-1] if inner[0] else ""
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            inner = _beginnings(value[2], most)
            cuts += [text + cut for cut in inner]
            text += (inner[-1] if inner else "") * max(value[0], min(most, value[1]))
        elif code is not codes.ASSERT and code is not codes.ASSERT_NOT:
            for part in _parts(code, value):
                inner = _beginnings(part, most)
                cuts += [text + cut for cut in inner]
                text += inner[-1] if inner else ""
        cuts.append(text)
    return cuts


def growth(expression: Expression) -> list[dict[str, Any]]:
    """Time an expression with texts of three lengths; return those on which it grows faster than they do."""
    compiled = re.compile(expression.pattern, expression.flags)
    slowest: dict[str, dict[str, Any]] = {}
    lengths = [CHARACTERS, 2 * CHARACTERS, 4 * CHARACTERS]
    gc.disable()
    over = time.monotonic() + SECONDS / 2
    for method in expression.methods:
        for texts_of_one in zip(
            *(texts(expression.pattern, expression.flags, length) for length in lengths), strict=True
        ):
            if time.monotonic() > over:
                break
            shown = f"{texts_of_one[0][:30]!r}…{texts_of_one[0][-6:]!r}"
            write(json.dumps({"trying": f"{method} {shown}"}) + "\n")
            seconds = [_seconds(compiled, method, texts_of_one[0])]
            if seconds[0] < QUICK * CHARACTERS:
                continue
            seconds += [min(_seconds(compiled, method, text) for _ in range(2)) for text in texts_of_one[1:]]
            each = min(seconds[1] / seconds[0], seconds[2] / seconds[1])
            if each > SUSPECT and seconds[2] > slowest.get(method, {"seconds": [0.0]})["seconds"][-1]:
                slowest[method] = {"method": method, "text": shown, "seconds": [round(value, 4) for value in seconds]}
                break
    return list(slowest.values())


def _seconds(compiled: re.Pattern[Any], method: str, text: str) -> float:
    argument: Any = text.encode("latin-1", "replace") if isinstance(compiled.pattern, bytes) else text
    began = time.process_time()
    if method == "finditer":
        for _ in compiled.finditer(argument):
            pass
    else:
        getattr(compiled, method)(argument)
    return time.process_time() - began


def tried(expression: Expression) -> list[dict[str, Any]]:
    """Return what ``growth`` finds in a process of its own, or the text on which it was ended."""
    command = [sys.executable, "-m", "benchmarks.fuzz_patterns", "--work"]
    pattern = expression.pattern
    argument = json.dumps([pattern if isinstance(pattern, str) else [pattern.decode("latin-1")], *expression[2:]])
    try:
        ran = subprocess.run(
            command, cwd=ROOT, input=argument, capture_output=True, text=True, check=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired as error:
        lines = (error.stdout or b"").decode().split("\n")
        last = json.loads(lines[-2])["trying"] if len(lines) > 1 else "nothing"
        return [{"method": "", "text": last, "seconds": [f"more than {SECONDS:g} in all"]}]
    slowest: list[dict[str, Any]] = json.loads(ran.stdout.splitlines()[-1])
    return slowest


def work() -> None:
    """Read an expression from standard input and print what ``growth`` finds, for :func:`tried` to read."""
    pattern, flags, methods = json.loads(sys.stdin.read())
    content = pattern if isinstance(pattern, str) else pattern[0].encode("latin-1")
    write(json.dumps(growth(Expression("", content, flags, tuple(methods)))) + "\n")


def main() -> None:
    """Try the expressions and print those that grow faster than the text."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", default="", metavar="TEXT", help="expressions whose place holds this")
    arguments.add_argument("--list", action="store_true", help="list the expressions")
    arguments.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    args = arguments.parse_args()
    if args.work:
        work()
        return
    chosen = [expression for expression in expressions() if args.only in expression.place]
    if args.list:
        write("".join(f"{each.place} {', '.join(each.methods)}: {each.pattern!r}\n" for each in chosen))
        return
    slow = 0
    for expression in chosen:
        slowest = tried(expression)
        slow += bool(slowest)
        for each in slowest:
            write(f"{expression.place} {each['method']} {each['text']}: {each['seconds']}\n")
    say(f"{len(chosen)} expressions, {slow} grow faster than the text")
    sys.exit(slow > 0)


if __name__ == "__main__":
    main()
