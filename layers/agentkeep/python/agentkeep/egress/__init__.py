"""Connections to addresses that users give: resolved, checked, and made to the very address that was checked.

A check of the name alone loses to DNS rebinding, so it happens where the socket is opened, for every connection anew:
a redirect, another spelling of an IP address and a name that changes its mind all come through here. Refused is what is
not public (IANA's special-purpose registries, as `ipaddress` knows them): loopback and with it Lambda's Runtime API,
private networks, link-local with the metadata services. `AGENTKEEP_ALLOW_PRIVATE_URLS=1` allows them.
"""
