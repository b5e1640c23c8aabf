"""Options of the command line that do not fit together, or are out of range."""

from faults.cases import of_family

_, _, command = of_family("options")

CASES = [
    command("an unknown data set", "compare iriss", words="did you mean 'iris'?"),
    command(
        "more draws than memory",
        "compare galaxies --draws 1000000000",
        words="--draws is 1000000000: draws of 82 points take",
    ),
    command(
        "more draws of MCMC than memory",
        "compare galaxies --mcmc-draws 1000000000",
        words="--mcmc-draws is 1000000000: 4 chains of 82 points take",
    ),
    command("a seed below zero", "compare iris --seed -1", words="--seed"),
    command(
        "an unknown family",
        "compare iris --family gauss",
        words="unknown family 'gauss'. Known: diagonal, nig",
    ),
    command("an unknown prior", "recipe iris --prior crb", words="did you mean 'crp'?"),
    command(
        "a prior beside a guide",
        "compare iris --guide ncp-niw4d --prior py",
        words="prior given beside a guide, which has a model of its own",
    ),
    command(
        "a concentration of nan",
        "compare iris --concentration nan",
        words="concentration is nan, expected a positive number",
    ),
    command(
        "more clusters expected than rows",
        "compare iris --expected-clusters 151",
        words="--expected-clusters is 151, expected at most",
    ),
]
