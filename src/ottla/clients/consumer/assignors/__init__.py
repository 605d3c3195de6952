"""Who reads what: the assignors that a classic group's leader runs, with the results of Apache's."""
