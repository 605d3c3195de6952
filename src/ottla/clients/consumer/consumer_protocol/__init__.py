"""The consumer group protocol of KIP-848, as a member speaks it: heartbeats; the broker assigns."""
