"""`python -m kinetic.cli`."""

from kinetic.cli import main

if __name__ == "__main__":
    main()
