"""The tools of agents: which are builtin, what models see of them, and how the builtin ones run."""
