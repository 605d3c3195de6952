"""Kafka's configuration: typed, documented, parsed once. Pure."""
