"""The main job end to end: click events, windows over them, a stateful step, a topic and a Delta table."""
