"""Bodies and query strings of Letta's API as models, with its defaults: strict about types, deaf to unknown fields."""
