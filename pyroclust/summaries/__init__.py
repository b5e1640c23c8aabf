"""What is said of draws of a partition: the figures behind every report, table and JSON file."""
