"""Every error that factseek raises on purpose.

    FactseekError
    ├── UserError            the user can mend it: exit 2, HTTP 4xx
    │   ├── UsageError       the arguments of a command make no sense
    │   ├── ConfigError      a setting is unknown, of the wrong type, or out of range
    │   ├── SourceError      a source file or one of its lines cannot be read
    │   ├── IndexStateError  an index is missing, half-built, foreign, in use, or does not fit what is asked
    │   │   └── IndexBusyError   another process writes the index
    │   ├── QueryError       a query, filter or option of a search makes no sense
    │   ├── NotFoundError    a named index or document does not exist
    │   └── MachineError     the machine lacks something: Java, an encoder, room on the disk
    └── CheckFailed          a checked file is bad: exit 1

A message gives place, value and remedy in one line: ``run.tsv:17: score 'nan' is not a finite number``.
"""

from __future__ import annotations


class FactseekError(Exception):
    """The root: catch it to catch all that factseek raises on purpose."""

    @property
    def line(self) -> str:
        """The message on a single line, whatever a value in it held."""
        return " ".join(str(self).split())


class UserError(FactseekError):
    """Something that the user can mend."""


class UsageError(UserError):
    """The arguments of a command make no sense."""


class ConfigError(UserError):
    """A setting is unknown, of the wrong type, or out of range."""


class SourceError(UserError):
    """A source file or one of its lines cannot be read."""


class IndexStateError(UserError):
    """An index is missing, half-built, foreign, in use, or does not fit what is asked of it."""


class IndexBusyError(IndexStateError):
    """Another process writes the index."""


class QueryError(UserError):
    """A query, a filter or an option of a search makes no sense."""


class NotFoundError(UserError):
    """A named index or document does not exist."""


class MachineError(UserError):
    """The machine lacks something: Java, an encoder, room on the disk."""


class CheckFailed(FactseekError):
    """A checked file is bad."""
