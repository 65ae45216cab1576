"""The reasons for which a process of a cluster does not do its work, as one line."""

from __future__ import annotations

from ..retrieval.errors import MachineError


def not_started(place: object, done: str, reason: str) -> MachineError:
    """Return the error for a shard that cannot be ``done`` (opened, built) on the cluster, for what Ray says of it."""
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    missing = next((line for line in lines if line.startswith(("ModuleNotFoundError", "ImportError"))), "")
    if missing:
        return MachineError(
            f"cannot be {done} on a node of the cluster, which lacks a package ({missing.partition(': ')[2][:200]})",
            place=place,
            remedy="install the same factseek[ray] on every node",
        )
    return MachineError(
        f"cannot be {done} on the cluster ({(lines or ['no reason given'])[-1][:200]})",
        place=place,
        remedy="look into the logs of Ray on its node",
    )
