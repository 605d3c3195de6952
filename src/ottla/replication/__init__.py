"""Replication: the partitions that a broker hosts, what is appended to them and what is read from them."""
