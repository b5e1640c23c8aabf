"""Built-in data sets, tables from files, and their scale."""
