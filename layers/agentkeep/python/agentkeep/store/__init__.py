"""DynamoDB and S3: keys, items, transactions, leases, pagination, idempotency. The only package that talks to them."""
