"""``python -m pyroclust``: the command line, as ``torchrun -m pyroclust`` starts it."""

from pyroclust.cli import main

if __name__ == "__main__":
    main()
