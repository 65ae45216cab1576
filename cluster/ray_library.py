"""The one place that imports Ray, and only when a cluster is asked for."""

from __future__ import annotations

import importlib.util
import os
import socket
from functools import cache
from typing import Any

from ..retrieval.errors import MachineError

NAMESPACE = "factseek"
_ANSWERS_WITHIN = 5.0
_START_ONE = "start one with ray start --head, and give the address that it prints"


@cache
def ray() -> Any:
    """Return the library, which reports nothing to anybody.

    Raises MachineError if it is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray as library
        import ray.util.scheduling_strategies
    except ModuleNotFoundError:
        raise _missing() from None
    return library


def connect(address: str) -> None:
    """Connect this process to the cluster at ``address``, unless it is connected.

    Raises MachineError if Ray is not installed, or no cluster answers there.
    """
    library = ray()
    check_address(address)
    if library.is_initialized():
        return
    if address.startswith(("127.", "localhost:")):
        # Else Ray asks for the address of this machine instead, where a cluster of the loopback address is not.
        library._private.ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        library.init(address, namespace=NAMESPACE, log_to_driver=False, configure_logging=False)
    except (ConnectionError, ValueError, RuntimeError, TimeoutError, AssertionError) as error:
        raise _none(address, str(error)) from None


def check(address: str) -> None:
    """Check, without connecting, that this process could ask a cluster: it may still be forked.

    Raises MachineError if Ray is not installed, or nothing answers at the address.
    """
    if importlib.util.find_spec("ray") is None:
        raise _missing()
    check_address(address)


def check_address(address: str) -> None:
    """Raise MachineError if nothing answers at an address; Ray itself would try for minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        raise MachineError(f"{address[:80]!r} is not of the form HOST:PORT", place="cluster.address", remedy=_START_ONE)
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWERS_WITHIN).close()
    except (OSError, OverflowError) as error:
        raise _none(address, getattr(error, "strerror", None) or str(error)) from None


def _missing() -> MachineError:
    return MachineError("Ray is not installed", remedy="install factseek[ray]")


def _none(address: str, reason: str) -> MachineError:
    first = reason.strip().split("\n", 1)[0][:200]
    return MachineError(f"no Ray cluster answers at {address} ({first})", place="cluster.address", remedy=_START_ONE)
