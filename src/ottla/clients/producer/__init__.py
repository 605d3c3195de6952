"""The producer: records go into batches, batches to the leaders of their partitions, and answers back to the sender."""
