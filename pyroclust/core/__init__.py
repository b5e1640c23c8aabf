"""The ground: checks of arguments, files, randomness, progress, compilation. Nothing of the field."""
