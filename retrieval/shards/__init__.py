"""Sharded indexes: several index folders that are published, and read, as one."""
