"""A trial of opening an index on a cluster, in a child process: this one may still be forked.

The child is ``python -m factseek.cluster.trial``. It takes what is to be opened on standard input and writes the error,
if there is one, to standard output.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ..retrieval.children import command, environment
from ..retrieval.config import Config
from ..retrieval.errors import FactseekError, MachineError
from .settings import ClusterSettings
from .wire import packed, unpacked


def try_to_open(folder: Path, config: Config, cluster: ClusterSettings) -> None:
    """Have every replica of the shards of the index in ``folder`` open its state on the cluster, where it stays open.

    Raises what :func:`factseek.cluster.opening.check_opens` raises.
    """
    tried = subprocess.run(  # noqa: S603
        command("cluster.trial"),
        input=packed((folder.absolute(), config, cluster)),
        stdout=subprocess.PIPE,
        env=environment(),
        check=False,
    )
    if tried.stdout:
        error: FactseekError = unpacked(tried.stdout)
        raise error
    if tried.returncode:
        raise MachineError(
            f"could not be opened on the cluster: the attempt ended with {tried.returncode}", place=folder
        )


def main() -> None:
    """Try what standard input says."""
    from .opening import check_opens

    folder, config, cluster = unpacked(sys.stdin.buffer.read())
    try:
        check_opens(folder, config, cluster)
    except FactseekError as error:
        sys.stdout.buffer.write(packed(error))


if __name__ == "__main__":
    main()
