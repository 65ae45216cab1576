"""The commands ``serve``, ``mcp`` and ``key``."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

import msgspec

from ..core.errors import ConfigError, UsageError
from ..core.terminal import DONE, Subparsers, add_config, say, write
from ..retrieval.arguments import add_verify, config_of
from .settings import Config

_UNLESS = " of the configuration; if --index is given, none"
_KEY_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


def register(commands: Subparsers) -> None:
    """Add ``serve``, ``mcp`` and ``key`` to the command line."""
    serving = commands.add_parser(
        "serve",
        help="serve indexes over HTTP, with a search page",
        description="Serve indexes over HTTP: a search page and a JSON API. Ctrl-C stops the "
        "server.",
    )
    tools = commands.add_parser(
        "mcp",
        help="offer search tools to agents over the Model Context Protocol",
        description="Offer search tools to agents over the Model Context Protocol. The command "
        "uses standard input"
        " and output, or HTTP with --http. Ctrl-C stops it.",
    )
    for parser in (serving, tools):
        _add_named(
            parser,
            "--index",
            "NAME=DIR",
            "serve the index in DIR as NAME",
            "indexes of the configuration",
        )
        _add_named(
            parser, "--ranker", "NAME=FILE", "serve the ranker in FILE as NAME", f"rankers{_UNLESS}"
        )
    judge = "judge claims with the model in FILE (from factseek verdict --save)"
    _add_named(serving, "--verdicts", "NAME=FILE", judge, f"verdicts{_UNLESS}")
    speak = "serve the protocol NAME under /NAME/ with INDEX or the first index"
    _add_named(
        serving, "--adapter", "NAME[=INDEX]", speak, "adapters of the configuration, else none"
    )
    tools.add_argument("--verdicts", type=Path, metavar="FILE", help=judge)
    tools.add_argument(
        "--http",
        action="store_true",
        help="use HTTP, at /mcp, instead of standard input and output",
    )
    host = "the address to listen on (default: server.host, else 127.0.0.1)"
    serving.add_argument("--host", metavar="ADDRESS", help=host)
    port = "the port; 0 takes any free port (default: server.port, else 8000)"
    serving.add_argument("--port", type=int, metavar="N", help=port)
    workers = "the number of processes (default: server.workers, else 2)"
    serving.add_argument("--workers", type=int, metavar="N", help=workers)
    writes = (
        "allow requests that add or delete documents; they always need a key (default: "
        "server.writes, else false)"
    )
    serving.add_argument("--allow-writes", action="store_true", help=writes)
    ray = (
        "query sharded indexes on the Ray cluster at HOST:PORT (default: cluster.address, else "
        "none)"
    )
    serving.add_argument("--ray", metavar="ADDRESS", help=ray)
    tools.add_argument("--host", metavar="ADDRESS", help=host)
    tools.add_argument(
        "--port", type=int, metavar="N", help="the port (default: server.port, else 8000)"
    )
    for parser, command in ((serving, serve), (tools, offer_tools)):
        add_config(parser)
        add_verify(parser)
        parser.set_defaults(command=command)
    key = commands.add_parser(
        "key",
        help="create an API key for the server",
        description="Create an API key. Print the key, and the line that adds it to the "
        "configuration.",
    )
    key.add_argument(
        "name",
        metavar="NAME",
        help="the owner of the key, as shown in the log and the configuration",
    )
    key.add_argument(
        "--hash",
        action="store_true",
        help="print the line for a key that you already have; the command reads the key from the "
        "terminal or from standard input",
    )
    key.set_defaults(command=make_key)


def _add_named(
    parser: argparse.ArgumentParser, option: str, pair: str, what: str, default: str
) -> None:
    says = f"{what}; repeat the option for more (default: server.{default})"
    parser.add_argument(option, action="append", default=[], metavar=pair, help=says)


def make_key(args: argparse.Namespace) -> int:
    """Print a new key and its line for the configuration, or only the line of an existing key."""
    if not _KEY_NAME.fullmatch(args.name):
        remedy = "use up to 64 letters, digits, '.', '_' and '-'"
        raise UsageError(f"{args.name[:80]!r} cannot be the name of a key", remedy=remedy)
    from .auth import digest, new_key

    if args.hash:
        key = _read_key()
        write(f"{args.name}: {digest(key)}\n")
        return DONE
    key = new_key()
    write(f"{key}\n")
    what = (
        "Store this key now; it is not shown again. To let a server accept it, add this line "
        "under server.keys"
    )
    say(f"{what}:\n  {args.name}: {digest(key)}")
    return DONE


def _read_key() -> str:
    """Return a key from the terminal, which does not show it, or from standard input."""
    # Importing it is only worth it here.
    from getpass import getpass

    line = getpass("the key: ") if sys.stdin.isatty() else sys.stdin.readline()
    key = line.strip()
    if not key:
        raise UsageError("there is no key on standard input", remedy="type or paste the key")
    return key


def serve(args: argparse.Namespace) -> int:
    """Serve until a signal stops the server."""
    config = read_config(args)
    from .serve import serve as run

    run(config)
    return DONE


def offer_tools(args: argparse.Namespace) -> int:
    """Offer tools to agents until a signal or, without ``--http``, until standard input ends."""
    config = read_config(args)
    from . import mcp

    mcp.run(config, args.verdicts, http=args.http)
    return DONE


def read_config(args: argparse.Namespace) -> Config:
    """Return the configuration, changed by the command-line options; raise ConfigError if an option
    is invalid.
    """
    config = config_of(args, Config)
    options = {name: getattr(args, name, None) for name in ("host", "port", "workers")}
    changes: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if args.index:
        changes["indexes"] = _paths("--index", "DIR", args.index)
    for option, setting in (("ranker", "rankers"), ("verdicts", "verdicts")):
        pairs = getattr(args, option, [])
        if isinstance(pairs, list) and (args.index or pairs):
            changes[setting] = _paths(f"--{option}", "FILE", pairs)
    for pair in getattr(args, "adapter", ()):
        name, _, index = pair.partition("=")
        adapters = changes.setdefault("adapters", {})
        if name in adapters:
            raise ConfigError(f"--adapter {pair!r}: the adapter {name!r} is given twice")
        adapters[name] = index
    if getattr(args, "allow_writes", False):
        changes["writes"] = True
    if not 0 <= changes.get("port", 0) <= 65_535:
        raise ConfigError(f"--port {changes['port']}: give a port from 0 to 65535")
    if changes.get("workers", 1) < 1:
        raise ConfigError(f"--workers {changes['workers']}: give a number of processes, 1 or more")
    if getattr(args, "ray", None):
        config = msgspec.structs.replace(
            config, cluster=msgspec.structs.replace(config.cluster, address=args.ray)
        )
    return msgspec.structs.replace(config, server=msgspec.structs.replace(config.server, **changes))


def _paths(option: str, what: str, pairs: list[str]) -> dict[str, str]:
    paths: dict[str, str] = {}
    for pair in pairs:
        name, separator, path = pair.partition("=")
        if not separator or not name or not path:
            remedy = "" if "=" in pair else f"write {Path(pair).stem}={pair}"
            raise ConfigError(f"{option} {pair!r} is not of the form NAME={what}", remedy=remedy)
        if name in paths:
            raise ConfigError(f"{option} {pair!r}: the name {name!r} is given twice")
        paths[name] = str(Path(path).expanduser())
    return paths
