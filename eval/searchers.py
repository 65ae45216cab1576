"""Threads that search: work on items side by side, its results in the order of the items."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import TypeVar

from retrieval.java import java_thread

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Generator[Result]:
    """Do ``work``, which may use Java, on items in several threads; yield what it gives in the order of the items.

    One item more than there are threads is begun before the first result is taken. The first error of the work is
    raised in its result's place; then, and when the generator is closed, what waits is dropped and what has begun is
    waited for.
    """
    given: SimpleQueue[tuple[Item, Future[Result]] | None] = SimpleQueue()
    begun: deque[Future[Result]] = deque()

    def search() -> None:
        with java_thread():
            while (task := given.get()) is not None:
                _do(work, *task)

    with ThreadPoolExecutor(threads) as pool:
        try:
            for _ in range(threads):
                pool.submit(search)
            for item in items:
                begun.append(Future())
                given.put((item, begun[-1]))
                if len(begun) > threads:
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        finally:
            for future in begun:
                future.cancel()
            for _ in range(threads):
                given.put(None)


def _do(work: Callable[[Item], Result], item: Item, future: Future[Result]) -> None:
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(work(item))
        except Exception as error:  # noqa: BLE001  it is raised where the result is taken
            future.set_exception(error)
