"""Publishing: check a dataset folder, then bring it, the metric and results to the Hugging Face Hub.

Nothing is visible half-way: large files go first, one commit makes all of a repository's files appear together, and a
repository is private until that commit has been verified. What was sent is not sent again by a second run.
"""
