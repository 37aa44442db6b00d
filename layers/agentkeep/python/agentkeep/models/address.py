"""A provider's address as it may be shown."""

import re
from typing import Final

_USER: Final = re.compile(r"^((?:[a-z][a-z0-9+.-]*:)?//)?[^/?#]*@", re.IGNORECASE)


def without_user(address: str) -> str:
    """The address without the user name and password that may stand before its host (RFC 3986, section 3.2.1)."""
    return _USER.sub(r"\1", address)
