"""TLS: certificates and keys as Kafka's ``ssl.*`` keys name them, and the contexts that are made of them."""
