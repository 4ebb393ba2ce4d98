"""Run the command from a checkout; the code is in scifigqual_bench/commands/push_to_hub.py."""

import sys

from scifigqual_bench.commands.push_to_hub import main

if __name__ == "__main__":
    sys.exit(main())
