"""A provider's address as it is shown: where it is, not with which password."""

import pytest

from agentkeep.models.address import without_user


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1"),
        ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
        ("http://bob:pass@host.test", "http://host.test"),
        ("HTTPS://bob@host.test:8443/v1?a=b@c", "HTTPS://host.test:8443/v1?a=b@c"),
        ("http://bob:p@ss@[::1]:8000/v1", "http://[::1]:8000/v1"),
        ("//bob:pass@host.test/v1", "//host.test/v1"),
        ("bob:pass@host.test/v1", "host.test/v1"),
        ("https://gateway.test/@team/v1", "https://gateway.test/@team/v1"),
        ("builtin", "builtin"),
        ("", ""),
    ],
)
def test_user_and_password_are_left_out(address: str, shown: str) -> None:
    assert without_user(address) == shown
