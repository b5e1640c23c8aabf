"""pyroclust."""
