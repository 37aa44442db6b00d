"""What an agent remembers: memory blocks and their edits, the system message made of them, recall search."""
