"""The classic group protocol, as a member speaks it: join, sync, heartbeat, leave; the leader assigns."""
