"""The operations of the API: a request model in, what it is answered with out. Handlers call one each."""
