"""Options of the command line that do not fit together, or are out of range."""

from faults.cases import command

CASES = [
    command("options", "an unknown data set", "compare iriss", words="did you mean 'iris'?"),
    command(
        "options",
        "more draws than memory",
        "compare galaxies --draws 1000000000",
        words="num_draws is 1000000000: draws of 82 points take",
    ),
    command(
        "options",
        "more draws of MCMC than memory",
        "compare galaxies --mcmc-draws 1000000000",
        words="mcmc_draws is 1000000000: 4 chains of 82 points take",
    ),
    command("options", "a seed below zero", "compare iris --seed -1", words="--seed"),
]
