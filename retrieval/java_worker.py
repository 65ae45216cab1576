"""A thread that calls Java beside the thread that says what is to be called."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Queue

from .java import java_thread


class JavaWorker:
    """Makes calls in a thread of its own, in the order in which they are asked for; an error ends them.

    One thread asks. It keeps every Java object that the calls use until :meth:`end` or :meth:`stop` has returned, for
    to let go of one is a call of the thread that made it; the calls themselves leave no Java object behind.
    """

    def __init__(self, name: str, waiting: int) -> None:
        """Start the thread; at most ``waiting`` calls wait."""
        self._calls: Queue[Callable[[], object] | None] = Queue(waiting)
        self._error: BaseException | None = None
        self._stopped = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def ask(self, call: Callable[[], object]) -> None:
        """Have a call made after those that were asked for before; wait while too many do.

        Raises what an earlier call has raised.
        """
        self._check()
        self._calls.put(call)

    def end(self) -> None:
        """Wait until all calls have been made, and end the thread.

        Raises what a call has raised.
        """
        self._calls.put(None)
        self._thread.join()
        self._check()

    def stop(self) -> None:
        """End the thread when the call that it is making has returned; what that raises is passed over."""
        self._stopped = True
        if self._thread.is_alive():
            self._calls.put(None)
            self._thread.join()

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        with java_thread():
            while (call := self._calls.get()) is not None:
                self._make(call)

    def _make(self, call: Callable[[], object]) -> None:
        if self._error is None and not self._stopped:
            try:
                call()
            except BaseException as error:  # noqa: BLE001  whoever asks is told, whatever it is
                self._error = error
