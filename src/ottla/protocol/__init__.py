"""Kafka's wire protocol. Pure."""
