"""What keeps a server going: indexes, readiness, metrics, access, logs."""
