"""Who a client is, and how it proves it: SASL mechanisms as step machines, and TLS."""
