"""Start a Ray cluster of three nodes on this machine, at the loopback address, and keep it until a
signal ends it.

``python examples/three_nodes.py`` prints the address of the cluster, then the process id of each
node that you may kill. The first node, which keeps the cluster together, is not listed.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> int:
    """Start the nodes, print their address and processes, and wait for a signal."""
    # Set before Ray is imported: Ray then reports no usage data and stays at the loopback address.
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 4, "include_dashboard": False, "object_store_memory": 100_000_000}
    cluster = Cluster(initialize_head=True, connect=False, head_node_args=head)
    nodes = [cluster.add_node(num_cpus=4, object_store_memory=100_000_000) for _ in range(2)]
    cluster.wait_for_nodes(timeout=120)
    lines = [cluster.address, *(str(node.all_processes["raylet"][0].process.pid) for node in nodes)]
    sys.stdout.write("\n".join([*lines, ""]))
    sys.stdout.flush()
    ending = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    signal.sigwait(ending)
    cluster.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
