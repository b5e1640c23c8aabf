"""How far two sources of draws differ, and whether chance explains it."""
