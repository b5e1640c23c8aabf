"""Laws of guides that make one cluster after the other."""
