"""Run the command from a checkout; the code is in scifigqual_bench/commands/eval.py."""

import sys

from scifigqual_bench.commands.eval import main

if __name__ == "__main__":
    sys.exit(main())
