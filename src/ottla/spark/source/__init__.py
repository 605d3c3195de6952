"""The driver's side of reading topics: which partitions, from and to which offsets, in which tasks."""
