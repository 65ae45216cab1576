"""Classes of Java, written as the bytes of their files where there is no compiler of Java at hand.

What can be written are a constructor that keeps its arguments in fields, and methods without branches, as the Java
Virtual Machine Specification, chapter 4, lays them out (version 52).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .java import exclusive, java_cast, java_class, own_class

CONSTRUCTOR = "<init>"
_NEW = {"newInstance": "([Ljava/lang/Object;)Ljava/lang/Object;"}
_PROXY = "$Proxy"
"""Pyjnius looks the class of every object up by name, where it would not find ours, except those named like this."""
_FIELD, _METHOD, _INTERFACE_METHOD = 9, 10, 11
_PUBLIC, _PRIVATE_FINAL, _PUBLIC_SUPER = b"\x00\x01", b"\x00\x12", b"\x00\x21"


class ClassFile:
    """A class as it is put together: what it extends and implements, fields that are set once, methods."""

    def __init__(self, name: str, above: str = "java/lang/Object", *, interfaces: Sequence[str] = ()) -> None:
        """Begin a class; it is registered under its name with a prefix that pyjnius lets pass."""
        self.name = f"{_PROXY}{name}"
        self._above = above
        self._numbers: dict[bytes, int] = {}
        self._head = self.type(self.name) + self.type(above)
        self._head += _many([self.type(interface) for interface in interfaces])
        self._fields: list[bytes] = []
        self._methods: list[bytes] = []

    def type(self, name: str) -> bytes:
        """Return the number of a class among the constants."""
        return self._number(7, self._text(name))

    def method_of(self, owner: str, name: str, signature: str, *, interface: bool = False) -> bytes:
        """Return the number of a method of another class, or of an interface, among the constants."""
        return self._member(_INTERFACE_METHOD if interface else _METHOD, owner, name, signature)

    def keep(self, fields: Mapping[str, str], passed_on: Sequence[str] = ()) -> dict[str, bytes]:
        """Write the constructor; return the numbers of the fields, by name, among the constants.

        It takes objects of the types ``passed_on``, which it passes on to the class above, and then the ``fields``,
        which it keeps: their types by name.
        """
        kept = {name: self._member(_FIELD, self.name, name, _reference(kind)) for name, kind in fields.items()}
        above = self.method_of(self._above, CONSTRUCTOR, _signature(passed_on))
        # aload_0, aload of each that is passed on, invokespecial
        code = b"\x2a" + b"".join(b"\x19" + bytes([1 + at]) for at in range(len(passed_on))) + b"\xb7" + above
        for at, number in enumerate(kept.values(), 1 + len(passed_on)):
            code += b"\x2a\x19" + bytes([at]) + b"\xb5" + number  # aload_0, aload, putfield
        arguments = [*passed_on, *fields.values()]
        self.add(CONSTRUCTOR, _signature(arguments), code + b"\xb1", stack=1 + max(1, len(passed_on)))
        self._fields += [
            _PRIVATE_FINAL + self._text(name) + self._text(_reference(kind)) + b"\0\0" for name, kind in fields.items()
        ]
        return kept

    def add(self, name: str, signature: str, code: bytes, *, stack: int, places: int = 32) -> None:
        """Add a public method with its code, which needs so many places on the stack and for variables."""
        body = struct.pack(">HHI", stack, places, len(code)) + code + b"\0\0\0\0"
        head = _PUBLIC + self._text(name) + self._text(signature) + b"\x00\x01"
        self._methods.append(head + self._text("Code") + struct.pack(">I", len(body)) + body)

    def content(self) -> bytes:
        """Return the bytes of the file."""
        pool = struct.pack(">H", len(self._numbers) + 1) + b"".join(self._numbers)
        members = _many(self._fields) + _many(self._methods)
        return struct.pack(">IHH", 0xCAFEBABE, 0, 52) + pool + _PUBLIC_SUPER + self._head + members + b"\0\0"

    @exclusive
    def loaded(self) -> Any:
        """Load the class into the virtual machine; return its constructor, a ``java.lang.reflect.Constructor``."""
        with TemporaryDirectory(prefix="factseek-") as folder:
            Path(folder, f"{self.name}.class").write_bytes(self.content())
            place = java_class("java.io.File")(folder).toURI().toURL()
            loader = java_class("java.net.URLClassLoader").newInstance([place])
            return loader.loadClass(self.name).getConstructors()[0]

    def _number(self, tag: int, data: bytes) -> bytes:
        """Return the number of a constant as two bytes; each stands once, numbered from 1."""
        return struct.pack(">H", self._numbers.setdefault(bytes([tag]) + data, len(self._numbers) + 1))

    def _text(self, text: str) -> bytes:
        return self._number(1, struct.pack(">H", len(text)) + text.encode("ascii"))

    def _member(self, tag: int, owner: str, name: str, signature: str) -> bytes:
        return self._number(tag, self.type(owner) + self._number(12, self._text(name) + self._text(signature)))


@exclusive
def new_object(constructor: Any, *arguments: Any) -> Any:
    """Return a new object of a class that was loaded, made by its constructor of Java objects."""
    called = java_cast(own_class("java.lang.reflect.Constructor", _NEW), constructor)
    return called.newInstance([java_cast("java.lang.Object", argument) for argument in arguments])


def _reference(kind: str) -> str:
    return f"L{kind};"


def _signature(kinds: Sequence[str]) -> str:
    return f"({''.join(map(_reference, kinds))})V"


def _many(parts: Sequence[bytes]) -> bytes:
    return struct.pack(">H", len(parts)) + b"".join(parts)
