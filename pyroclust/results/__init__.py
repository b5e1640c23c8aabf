"""What analyses return: dataclasses of figures behind every report, table and JSON file."""
