"""The project's benchmark beside other proxies; tests/bench/PEERS.md says how it measures."""
