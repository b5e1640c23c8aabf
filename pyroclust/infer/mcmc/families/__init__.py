"""Compiled component families, one file each; importing the package registers them."""

from pyroclust.infer.mcmc.families import (  # noqa: F401
    bernoulli,
    independent_normal,
    inverse_gamma,
    inverse_wishart,
    known_variance,
    multinomial,
    poisson,
    product,
    uncollapsed,
)
