"""Component families: what the points of a cluster are drawn from."""
