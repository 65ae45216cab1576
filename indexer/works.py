"""The works of a build, one in each part of an index, and the one reader that streams the records to them.

Of a sharded index, each shard has a work of its own, which takes the documents that the shard owns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, Protocol, Self

from ..retrieval.progress import bar
from ..retrieval.shards.layout import owner
from ..retrieval.views import Tools
from . import journal as journals
from .collections import BadLines, ReadOptions, Record, reader
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


class WorkOrder(NamedTuple):
    """The order of a work in part ``number`` of ``parts``, from 0.

    ``options`` are those that the records are read with; ``records`` reads all records of the part once more, for a
    work that has lost some. The work goes on where a build was interrupted, unless it is to begin ``anew``.
    """

    part: PartOfWork
    number: int
    parts: int
    config: Config
    options: ReadOptions
    records: Callable[[], Iterator[Record]]
    anew: bool


class PartWork(Protocol):
    """A build at work in one part of an index, here or elsewhere: what :class:`Work` says of each method."""

    updates: bool

    @property
    def journal(self) -> Journal:
        """The journal, with what the work has finished so far."""
        ...

    @property
    def resumed(self) -> bool:
        """Whether it went on where a build was interrupted."""
        ...

    def begin(self, lap: Lap) -> None:
        """Finish the segment that an interrupted build had begun."""
        ...

    def take(self, record: Record) -> None:
        """Take the next record."""
        ...

    def end(self) -> None:
        """Take note that no record comes any more."""
        ...

    def finish(self) -> None:
        """Finish the last segment."""
        ...

    def new_docids(self) -> Iterator[str]:
        """Yield the docids of the documents that the build wrote."""
        ...

    def docids(self) -> Iterator[str]:
        """Yield the docids of the documents that the build wrote, or found as they were read."""
        ...

    def close(self) -> None:
        """Close what it has opened; a segment that is not finished is given up."""
        ...


Workplace = Callable[[WorkOrder], PartWork]
"""Begin a work where it is to be done."""


def work_here(order: WorkOrder) -> PartWork:
    """Begin a work in this process."""
    task, tools, _ = order.part
    return Work(task, order.config, tools, order.part.journal(anew=order.anew), order.options)


class Works:
    """Builds at work in the parts of one index."""

    def __init__(self, sources: Sequence[Path], config: Config, parts: Sequence[PartOfWork]) -> None:
        limits = config.build
        self.options = ReadOptions(
            language=parts[0].tools.manifest.language,
            max_line_bytes=limits.max_line_bytes,
            max_file_bytes=limits.max_file_bytes,
            bad_lines=BadLines(limits.skip_bad_lines),
        )
        self.parts: list[PartWork] = []
        self._sources = sources
        self._kind = parts[0].task.kind
        self._folders = [part.tools.folder.path for part in parts]

    @classmethod
    def run(
        cls,
        sources: Sequence[Path],
        config: Config,
        parts: Sequence[PartOfWork],
        workplace: Workplace = work_here,
        *,
        anew: bool = False,
    ) -> Self:
        """Read the sources and return the works, done; go on where a build was interrupted, unless ``anew``.

        What cannot be done leaves the journals of the parts that have something to go on from.
        Raises SourcesChangedError if the sources do not begin with what the interrupted build had read.
        """
        works = cls(sources, config, parts)
        try:
            for number, part in enumerate(parts):
                order = WorkOrder(part, number, len(parts), config, works.options, works._records_of(number), anew)
                works.parts.append(workplace(order))
            works._run()
        except BaseException:
            works.close()
            works.give_up()
            raise
        return works

    def give_up(self) -> None:
        """Remove the files of the works that left nothing to go on from."""
        for folder in self._folders:
            journals.give_up(folder)

    def close(self) -> None:
        """Close what the works have opened."""
        for work in self.parts:
            work.close()

    def _run(self) -> None:
        lap = Lap()
        for work in self.parts:
            work.begin(lap)
        records = iter(reader(self._kind).read(self._sources, self.options))
        with closing(bar("reading", "documents")) as reading:
            for record in records:
                self._part_of(record).take(record)
                reading.update()
        for work in self.parts:
            work.end()
        for work in self.parts:
            work.finish()

    def _part_of(self, record: Record) -> PartWork:
        return self.parts[owner(record.document.docid, len(self.parts))]

    def _records_of(self, number: int) -> Callable[[], Iterator[Record]]:
        """Return what reads the records of a part from the first, and reports nothing a second time."""

        def records() -> Iterator[Record]:
            for record in reader(self._kind).read(self._sources, self.options.silent()):
                if owner(record.document.docid, len(self._folders)) == number:
                    yield record

        return records
