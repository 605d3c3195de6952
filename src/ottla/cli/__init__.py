"""The command line: ``ottla COMMAND …``, one command a file."""
