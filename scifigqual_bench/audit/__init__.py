"""Is a prediction file what it claims to be."""
