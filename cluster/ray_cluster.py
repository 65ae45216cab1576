"""The connection to a Ray cluster.

Only this module imports Ray, and only if the user asks for a cluster.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib.util
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from ..core.errors import MachineError

NAMESPACE = "factseek"
_FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
_HANDLER_BYTES = 256
"""A size larger than a ``struct sigaction`` on any system."""
_ANSWERS_WITHIN = 5.0
_START_ONE = "start a cluster with ray start --head, and give the address that it prints"


@cache
def ray() -> Any:
    """Return the library Ray, and turn off its usage reports; raise MachineError if it is not
    installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray as library
        import ray.util.scheduling_strategies
    except ModuleNotFoundError:
        raise _missing() from None
    return library


def connect(address: str) -> None:
    """Connect this process to a cluster, unless it is connected; raise MachineError if no cluster
    answers.
    """
    library = ray()
    check_address(address)
    if library.is_initialized():
        return
    if address.startswith(("127.", "localhost:")):
        # Otherwise Ray would use this machine's network address, where no cluster of the loopback
        # address answers.
        library._private.ray_constants.ENABLE_RAY_CLUSTER = False
    atexit.register(disconnect)  # runs before Ray disconnects by itself
    try:
        with _signal_handlers_kept():
            library.init(address, namespace=NAMESPACE, log_to_driver=False, configure_logging=False)
    except (ConnectionError, ValueError, RuntimeError, TimeoutError, AssertionError) as error:
        raise _none(address, str(error)) from None


def disconnect() -> None:
    """Disconnect this process from its cluster, if it is connected to one."""
    with _signal_handlers_kept():
        ray().shutdown()


@contextmanager
def _signal_handlers_kept() -> Iterator[None]:
    """Restore the process's own handlers of fault signals: Java uses these signals to detect null
    pointers.

    Ray replaces the handlers when it connects, and removes them when it disconnects. Without this
    function, the first null pointer in compiled Java would end the process.
    """
    system = ctypes.CDLL(None)
    before = {number: ctypes.create_string_buffer(_HANDLER_BYTES) for number in _FAULTS}
    for number, handler in before.items():
        system.sigaction(number, None, handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            system.sigaction(number, handler, None)


def check(address: str) -> None:
    """Raise MachineError if no cluster can be reached; the check does not connect, so the process
    may still fork.
    """
    if importlib.util.find_spec("ray") is None:
        raise _missing()
    check_address(address)


def check_address(address: str) -> None:
    """Raise MachineError if there is no address, or nothing answers at it; Ray itself would try for
    minutes.
    """
    if not address:
        remedy = "give the address of the cluster with --ray HOST:PORT"
        raise MachineError("is not set", place="cluster.address", remedy=remedy)
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        raise MachineError(
            f"{address[:80]!r} is not of the form HOST:PORT",
            place="cluster.address",
            remedy=_START_ONE,
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWERS_WITHIN).close()
    except (OSError, OverflowError) as error:
        raise _none(address, getattr(error, "strerror", None) or str(error)) from None


def _missing() -> MachineError:
    return MachineError(
        "Ray is not installed", remedy="install it with: pip install 'factseek[ray]'"
    )


def _none(address: str, reason: str) -> MachineError:
    first = reason.strip().split("\n", 1)[0][:200]
    return MachineError(
        f"no Ray cluster answers at {address} ({first})", place="cluster.address", remedy=_START_ONE
    )
