"""The commands: they parse arguments, call the rooms below and print; they decide nothing."""
