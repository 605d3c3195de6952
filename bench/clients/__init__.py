"""Ottla's clients beside those of others, against the same broker."""
