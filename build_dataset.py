"""Run the command from a checkout; the code is in scifigqual_bench/commands/build_dataset.py."""

import sys

from scifigqual_bench.commands.build_dataset import main

if __name__ == "__main__":
    sys.exit(main())
