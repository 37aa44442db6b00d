"""Checked connections of urllib3."""

import socket
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.util import connection as sockets

from agentkeep.egress.addresses import checked_addresses


def _connected(connection: HTTPConnection) -> socket.socket:
    """A socket to the first checked address of a connection's host that answers."""
    failure: Exception = OSError(f"no address for {connection.host}")
    try:
        addresses = checked_addresses(connection._dns_host, connection.port)
    except (OSError, UnicodeError) as error:
        raise urllib3.exceptions.NewConnectionError(connection, f"{connection.host} is not found") from error
    for address in addresses:
        try:
            return sockets.create_connection(
                (address, connection.port), connection.timeout, socket_options=connection.socket_options
            )
        except OSError as error:
            failure = error
    raise urllib3.exceptions.NewConnectionError(connection, f"{connection.host} does not answer") from failure


class _CheckedHTTPConnection(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        return _connected(self)


class _CheckedHTTPSConnection(HTTPSConnection):
    def _new_conn(self) -> socket.socket:
        return _connected(self)


class _CheckedHTTPPool(HTTPConnectionPool):
    ConnectionCls = _CheckedHTTPConnection


class _CheckedHTTPSPool(HTTPSConnectionPool):
    ConnectionCls = _CheckedHTTPSConnection


def checked_pool(**settings: Any) -> urllib3.PoolManager:
    """A urllib3 pool for addresses that users give. It uses no proxy; redirects, where it follows any, are checked."""
    pool = urllib3.PoolManager(**settings)
    pool.pool_classes_by_scheme = {"http": _CheckedHTTPPool, "https": _CheckedHTTPSPool}
    return pool
