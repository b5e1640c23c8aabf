"""Delimited text from any software: encoding, delimiter, decimal mark and rows, detected or set."""
