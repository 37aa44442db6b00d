"""DynamoDB on SQLite: `engine` is the way in for operators, `hook` for botocore clients."""
