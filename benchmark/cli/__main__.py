"""`python -m benchmark.cli`, the same as `bench`."""

from benchmark.cli import main

if __name__ == "__main__":
    main()
