"""Consumer groups (KIP-848): the coordinator assigns, members follow by heartbeats."""
