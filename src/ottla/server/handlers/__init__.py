"""One file an API: each states its key, versions and listener in ``APIS``, from which the tables are derived."""
