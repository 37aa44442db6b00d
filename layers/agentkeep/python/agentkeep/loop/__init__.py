"""A run: one message from its acceptance to its stop reason. `turns.run` is the door; the driver does the steps."""
