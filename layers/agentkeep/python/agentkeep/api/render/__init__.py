"""Stored records as Letta's API shows them. Nothing here reads or writes: all that is shown is passed in."""
