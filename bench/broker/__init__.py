"""Brokers side by side; ``contest`` is where it begins. The loads' processes import little of this."""
