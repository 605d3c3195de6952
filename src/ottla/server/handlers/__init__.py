"""One file an API: each states its key, its versions and its listener in ``APIS``, from which the tables are derived."""
