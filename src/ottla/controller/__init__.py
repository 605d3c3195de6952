"""The controller: decides about topics, partitions, brokers, configurations and features, and writes it to the log.

Its state is a :class:`~ottla.metadata.image.MetadataImage` with the uncommitted changes in it. Operations are pure:
they look at that image and return records and a response; :mod:`ottla.controller.quorum_controller` appends the
records.
"""
