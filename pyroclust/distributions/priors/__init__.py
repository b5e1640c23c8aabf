"""Priors over partitions: process and prior of one law in one file."""
