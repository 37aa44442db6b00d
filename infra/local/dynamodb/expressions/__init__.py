"""DynamoDB's expression language: parsed once per text, then bound to the names and values of a request."""
