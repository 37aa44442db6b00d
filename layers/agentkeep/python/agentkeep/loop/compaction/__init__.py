"""Compaction: older messages leave the context window and a summary takes their place; the history keeps them all."""
