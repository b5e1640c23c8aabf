"""What the commands do: compare, diagnose, and write the results."""
