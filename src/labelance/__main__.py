"""``python -m labelance``: the command line."""

from labelance.cli import main

if __name__ == "__main__":
    main()
