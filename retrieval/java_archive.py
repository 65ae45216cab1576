"""The archive of Java classes: what the virtual machine would read, check and lay out at each start, kept as it lies.

Loading Lucene's classes from their jar takes longer than a search. An archive (class data sharing) is bound to one Java
and one jar; a virtual machine that finds it missing, damaged or another's starts without it, and says nothing.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
from contextlib import suppress
from pathlib import Path

from .user_cache import is_own, user_cache

KEPT = 4
"""Archives that are kept, of as many installations; each has about 25 MB."""
SECONDS = 120
_QUIET = ("-Xshare:auto", "-Xlog:cds*=off", "-Xlog:class+path*=off")


class ClassArchive:
    """The archive of the classes that a Java in ``home`` loads from ``jar``, in the user's cache."""

    def __init__(self, home: Path, jar: Path) -> None:
        """Name the archive; nothing is read or written yet."""
        self._home, self._jar = home, jar
        self.path = user_cache("java") / f"classes-{_identity(home, jar)}.jsa"
        self._classes = self.path.with_suffix(f".{os.getpid()}.classes")

    def options(self, *, record: bool = False) -> list[str]:
        """Return the options with which the virtual machine uses the archive; none if there is none of the user's own.

        With ``record``, where there is no archive yet, it writes down what classes it loads: :meth:`write` needs that.
        """
        if _is_own(self.path):
            if not self.path.stat().st_size:  # it could not be made: nobody tries again
                return []
            return [f"-XX:SharedArchiveFile={self.path}", "-XX:+VerifySharedSpaces", *_QUIET]
        if record and not self.path.exists() and _made(self.path.parent):
            return [f"-XX:DumpLoadedClassList={self._classes}"]
        return []

    def write(self) -> None:
        """Write the archive, if the virtual machine of this process wrote down its classes; what fails is left out."""
        if not self._classes.exists():
            return
        ctypes.CDLL(None).fflush(None)  # what the virtual machine has written, but for the last page
        temporary = self.path.with_suffix(f".{os.getpid()}.tmp")
        try:
            if not self._dumped(temporary):
                temporary.write_bytes(b"")
            temporary.replace(self.path)
            _remove_oldest(self.path.parent)
        except OSError:
            return
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            self.forget()

    def forget(self) -> None:
        """Remove what the virtual machine of this process wrote down."""
        with suppress(OSError):
            self._classes.unlink(missing_ok=True)

    def _dumped(self, path: Path) -> bool:
        """Return whether a virtual machine of its own wrote the archive to ``path``."""
        files = [f"-XX:SharedClassListFile={self._classes}", f"-XX:SharedArchiveFile={path}", "-cp", str(self._jar)]
        command = [str(self._home / "bin" / "java"), "-Xshare:dump", "-XX:+UseSerialGC", "-Xlog:disable", *files]
        try:
            done = subprocess.run(command, check=False, capture_output=True, timeout=SECONDS)  # noqa: S603  Java's own
        except (OSError, subprocess.TimeoutExpired):
            return False
        if done.returncode or not path.exists():
            path.unlink(missing_ok=True)
            return False
        path.chmod(0o600)
        return True


def _identity(home: Path, jar: Path) -> str:
    """Return what tells this Java and this jar from others."""
    digest = hashlib.sha256()
    for path in (home / "release", home / "lib" / "server" / "libjvm.so", jar):
        with suppress(OSError):
            status = path.stat()
            digest.update(f"{path.resolve()}\0{status.st_size}\0{status.st_mtime_ns}\n".encode("utf-8", "replace"))
    return digest.hexdigest()[:16]


def _is_own(path: Path) -> bool:
    """Return whether a file is there that is this user's, and nobody else can write."""
    try:
        return is_own(path.stat())
    except OSError:
        return False


def _made(folder: Path) -> bool:
    """Return whether there is a folder of the user's own, made if need be, that can be written."""
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return _is_own(folder) and os.access(folder, os.W_OK)


def _remove_oldest(folder: Path) -> None:
    archives = sorted(folder.glob("classes-*.jsa"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in archives[KEPT:]:
        path.unlink(missing_ok=True)
