"""Kafka 4.3's requests and responses, one file an API; a test compares them with Apache's schemas."""
