"""Delimited text from any software: encoding, delimiter, decimal mark and rows, found or told."""
