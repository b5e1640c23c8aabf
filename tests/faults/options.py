"""Options of the command line that do not fit together, or are out of range."""

from faults.cases import command

CASES = [
    command("options", "an unknown data set", "compare iriss", words="did you mean 'iris'?"),
    command("options", "a seed below zero", "compare iris --seed -1", words="--seed"),
]
