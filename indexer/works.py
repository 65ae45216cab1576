"""The works of a build, one in each part of an index, and the one reader that streams the records to them.

Of a sharded index, each shard has a work of its own, which takes the documents that the shard owns.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, Self

from ..retrieval.progress import bar
from ..retrieval.shards.layout import owner
from ..retrieval.views import Tools
from . import journal as journals
from .collections import BadLines, ReadOptions, reader
from .journal import Journal
from .settings import Config
from .work import BuildTask, Lap, Work


class PartOfWork(NamedTuple):
    """The part of a build in one folder: its task, its tools, and the fingerprint of what was asked for."""

    task: BuildTask
    tools: Tools
    asked: str

    def journal(self, *, anew: bool) -> Journal:
        """Return the journal of an interrupted build of the same or, also if it is to begin ``anew``, a new one."""
        folder = self.tools.folder.path
        unfinished = None if anew else journals.unfinished(folder, self.asked)
        return unfinished or journals.begin(folder, self.asked, self.task.sources)


class Works:
    """Builds at work in the parts of one index."""

    def __init__(self, config: Config, parts: Sequence[PartOfWork], *, anew: bool) -> None:
        limits = config.build
        self.options = ReadOptions(
            language=parts[0].tools.manifest.language,
            max_line_bytes=limits.max_line_bytes,
            max_file_bytes=limits.max_file_bytes,
            bad_lines=BadLines(limits.skip_bad_lines),
        )
        self.parts: list[Work] = []
        self._folders = [part.tools.folder.path for part in parts]
        try:
            for part in parts:
                self.parts.append(Work(part.task, config, part.tools, part.journal(anew=anew), self.options))
        except BaseException:
            self.close()
            raise

    @classmethod
    def run(cls, sources: Sequence[Path], config: Config, parts: Sequence[PartOfWork], *, anew: bool = False) -> Self:
        """Read the sources and return the works, done; go on where a build was interrupted, unless ``anew``.

        What cannot be done leaves the journals of the parts that have something to go on from.
        Raises SourcesChangedError if the sources do not begin with what the interrupted build had read.
        """
        works = cls(config, parts, anew=anew)
        try:
            works._run(parts[0].task.kind, sources)
        except BaseException:
            works.close()
            works.give_up()
            raise
        return works

    def give_up(self) -> None:
        """Remove the files of the works that left nothing to go on from."""
        for folder, work in zip(self._folders, self.parts, strict=True):
            journals.give_up(folder, work.journal)

    def close(self) -> None:
        """Close what the works have opened."""
        for work in self.parts:
            work.close()

    def _run(self, kind: str, sources: Sequence[Path]) -> None:
        lap = Lap()
        for work in self.parts:
            work.begin(lap)
        records = iter(reader(kind).read(sources, self.options))
        with closing(bar("reading", "documents")) as reading:
            for record in records:
                self.parts[owner(record.document.docid, len(self.parts))].take(record)
                reading.update()
        for work in self.parts:
            work.finish()
