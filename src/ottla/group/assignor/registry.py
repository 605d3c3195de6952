"""The assignors that the broker has, by the names of ``group.consumer.assignors``."""

from collections.abc import Callable, Mapping

from ottla.group.assignor.range import assign_range
from ottla.group.assignor.spec import GroupAssignment, GroupSpec
from ottla.group.assignor.uniform import assign_uniform
from ottla.metadata.image.topics import TopicsImage

Assignor = Callable[[GroupSpec, TopicsImage], GroupAssignment]
"""Gives every partition of the topics that members subscribe to one owner. Raises PartitionAssignorError."""

ASSIGNORS: Mapping[str, Assignor] = {"uniform": assign_uniform, "range": assign_range}
