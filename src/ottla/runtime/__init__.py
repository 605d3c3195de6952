"""The machine as the rest of Ottla sees it: ports for clock, files, blocking calls and workers, and their adapters."""
