"""How photos relate: near-duplicates, bursts and events, similar photos."""
