"""Data sets that a model simulates: is a sampler calibrated on them, do data resemble them?"""
