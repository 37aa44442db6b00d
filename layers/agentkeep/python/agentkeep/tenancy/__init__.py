"""Tenants, callers and keys: who asks, what they may do, and with which credentials the system works for them."""
