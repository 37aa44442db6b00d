"""The AWS services besides DynamoDB that a machine without AWS needs, in one directory, behind the same clients."""
