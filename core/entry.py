"""The start and end of a factseek program: Ctrl-C prints one line, even during the imports.

This module imports only what every Python has already loaded at its start.
"""

import _signal  # type: ignore[import-not-found]  # "signal" itself would import more first
import _thread
import sys
import time

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

INTERRUPTED = 130
BEFORE_ANYTHING = "interrupted before anything was done"
_IMPORTING = "<frozen importlib._bootstrap>"
_AGAIN = 0.02  # the delay in seconds after which a Ctrl-C during an import is raised again
# The seconds after the first Ctrl-C from which Ctrl-C takes effect even during an import.
_PATIENCE = 10.0


def enter(load: "Callable[[], Callable[[], int]]") -> int:
    """Import a program with ``load``, run it, and return its exit code: 130 if it is
    interrupted.
    """
    heard = (
        _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
    )  # otherwise a shell started this program with Ctrl-C ignored
    message = BEFORE_ANYTHING
    try:
        if heard:
            interruption = _Interruption(_thread.get_ident())
            _signal.signal(_signal.SIGINT, interruption)
            sys.unraisablehook = interruption.heard_again_or(sys.unraisablehook)
        program = load()
        message = "interrupted"
        code = program()
        _let_end()
    except KeyboardInterrupt:
        _let_end()
        code = INTERRUPTED
        sys.stderr.write(f"factseek: {message}\n")
    return code


class _Interruption:
    """The handler of Ctrl-C: it raises KeyboardInterrupt, but not during an import, which would
    stay half done.
    """

    def __init__(self, main_thread: int) -> None:
        self._main_thread = main_thread
        self._first = 0.0

    def __call__(self, _: int, frame: "FrameType | None") -> None:
        self._first = self._first or time.monotonic()
        if _is_importing(frame) and time.monotonic() < self._first + _PATIENCE:
            _thread.start_new_thread(self._interrupt_later, ())
            return
        self._first = 0.0
        raise KeyboardInterrupt

    def heard_again_or(
        self, report: "Callable[[sys.UnraisableHookArgs], object]"
    ) -> "Callable[[sys.UnraisableHookArgs], None]":
        """Return a hook for unraisable errors: it repeats a Ctrl-C, and passes every other error to
        ``report``.
        """

        def tell(unraisable: "sys.UnraisableHookArgs") -> None:
            if unraisable.exc_type is KeyboardInterrupt:
                _thread.start_new_thread(self._interrupt_later, ())
            else:
                report(unraisable)

        return tell

    def _interrupt_later(self) -> None:
        time.sleep(_AGAIN)
        _signal.pthread_kill(self._main_thread, _signal.SIGINT)


def _is_importing(frame: "FrameType | None") -> bool:
    while frame is not None:
        if frame.f_code.co_filename == _IMPORTING:
            return True
        frame = frame.f_back
    return False


def _let_end() -> None:
    """Ignore Ctrl-C from now on: the work is done, and only the interpreter's exit remains."""
    import threading

    if threading.current_thread() is threading.main_thread():
        _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
