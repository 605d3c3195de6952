"""The node: everything wired together, and one handler a Kafka API."""
