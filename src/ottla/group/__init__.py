"""The group coordinator: members, assignments and offsets of consumer groups."""
