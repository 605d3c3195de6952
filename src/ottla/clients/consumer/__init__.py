"""A consumer: reads records of topics, alone or in a group, in order, from where it left off."""
