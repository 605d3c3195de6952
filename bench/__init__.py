"""Benchmarks: ``make bench`` prints their tables. Every bar is a ratio to what this machine does in the same run."""
