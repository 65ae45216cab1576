"""Every error that factseek raises on purpose.

    FactseekError
    ├── UserError            the user can fix it: exit 2, HTTP 4xx
    │   ├── UsageError       the arguments of a command are invalid
    │   ├── ConfigError      a setting is unknown, of the wrong type, or out of range
    │   ├── SourceError      a source file or one of its lines cannot be read
    │   ├── IndexStateError  an index is missing, damaged, of another layout, in use,
    │   │   │                or does not support the request
    │   │   ├── ClosedError      the index was closed before or during this use of it
    │   │   └── IndexBusyError   another process is writing the index
    │   ├── QueryError       a query, filter or option of a search is invalid
    │   ├── NotFoundError    a named index or document does not exist
    │   └── MachineError     the machine lacks something: Java, an encoder, disk space
    │       └── PartMissingError  a part of an index does not answer; a later attempt may succeed
    └── CheckFailed          a checked file is bad: exit 1

An error says what is wrong. It may also say where, and how to fix it. Examples are ``run.tsv:17:
score 'nan' is not a finite number`` and ``cited: there is no index; build one with factseek
index``. Code that needs the place or the remedy reads the field; it never parses a message.
"""

from __future__ import annotations

from collections.abc import Callable


class FactseekError(Exception):
    """The base class: catch it to catch every error that factseek raises on purpose.

    ``what`` says what is wrong, ``place`` says where (a file, a line, an index), and ``remedy``
    says how to fix it. ``place`` and ``remedy`` may be ``""``.
    """

    def __init__(self, what: str, *, place: object = "", remedy: str = "") -> None:
        super().__init__(what, place, remedy)
        self.what = what
        self.place = str(place)
        self.remedy = remedy

    def __reduce__(self) -> tuple[Callable[..., FactseekError], tuple[object, ...]]:
        """Let a copy, also in another process, have all attributes, whatever arguments its class
        takes.
        """
        return _remake, (type(self), self.args, vars(self))

    def __str__(self) -> str:
        """Return the message: ``place: what; remedy``."""
        located = f"{self.place}: {self.what}" if self.place else self.what
        return f"{located}; {self.remedy}" if self.remedy else located

    @property
    def line(self) -> str:
        """The message on a single line, even if a value in it contains line breaks."""
        return " ".join(str(self).split())


def _remake(
    kind: type[FactseekError], args: tuple[object, ...], attributes: dict[str, object]
) -> FactseekError:
    error = kind.__new__(kind, *args)
    vars(error).update(attributes)
    return error


class UserError(FactseekError):
    """An error that the user can fix."""


class UsageError(UserError):
    """The arguments of a command are invalid."""


class ConfigError(UserError):
    """A setting is unknown, of the wrong type, or out of range."""


class SourceError(UserError):
    """A source file or one of its lines cannot be read."""


class IndexStateError(UserError):
    """An index is missing, damaged, of another layout, in use, or does not support the request."""


class ClosedError(IndexStateError):
    """The index was closed before this use of it, or during it."""

    def __init__(
        self,
        what: str = "the index is closed",
        *,
        place: object = "",
        remedy: str = "open it again",
    ) -> None:
        super().__init__(what, place=place, remedy=remedy)


class IndexBusyError(IndexStateError):
    """Another process is writing the index."""


class QueryError(UserError):
    """A query, a filter or an option of a search is invalid; ``field`` names the option if it is
    not the query.
    """

    def __init__(self, what: str, *, place: object = "", remedy: str = "", field: str = "") -> None:
        super().__init__(what, place=place, remedy=remedy)
        self.field = field


class NotFoundError(UserError):
    """A named index or document does not exist."""


class MachineError(UserError):
    """The machine lacks something: Java, an encoder, disk space."""


class PartMissingError(MachineError):
    """A part of an index (a shard on a cluster) does not answer; a later attempt may succeed."""


class CheckFailed(FactseekError):
    """A checked file is bad."""
