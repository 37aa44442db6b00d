"""Tool rules: what an agent's tools may be called after, how often, with what, and when a turn may end."""
