"""Laws of guides that label points one after the other."""
