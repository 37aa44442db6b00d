"""What the commands of `agentkeep` do; `infra.cli` says how they are called. Imported when they are used."""
