"""Shards of an index on the machines of a Ray cluster; needs the extra ``ray``. Nothing else imports Ray."""
