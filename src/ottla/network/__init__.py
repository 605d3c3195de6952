"""The network: listeners, connections, frames, requests and responses on one event loop; docs/network.md."""
