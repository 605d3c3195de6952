"""Kafka clients: a producer, a consumer and an admin client, for asyncio and for plain code."""
