"""`python -m giantstep`: the command line."""

from giantstep.cli.main import main

if __name__ == "__main__":
    main()
