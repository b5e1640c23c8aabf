"""Compiled component families: their predictives and marginals as machine code, for kernels and networks."""
