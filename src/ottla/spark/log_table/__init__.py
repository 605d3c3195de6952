"""Log directories as a table: the format ``ottla-log``, for audit, recovery and backfill."""
