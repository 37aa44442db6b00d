"""Text that every store and provider takes: no NUL, no half of a surrogate pair."""

import re
from typing import Final

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """`text` without NUL characters, surrogate pairs joined and lone surrogates replaced by U+FFFD.

    DynamoDB and every provider speak UTF-8, which has no lone surrogates; JSON bodies may well carry them.
    """
    text = text.replace("\0", "")
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
