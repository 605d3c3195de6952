"""SASL mechanisms as step machines: a challenge comes in, a response goes out; sockets and time are elsewhere."""
