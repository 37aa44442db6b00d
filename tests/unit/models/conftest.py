"""Everything here is pure or in process: sockets are off."""

import pytest
from pytest_socket import disable_socket


@pytest.fixture(autouse=True)
def _no_sockets() -> None:
    disable_socket()
