"""Request paths, brought into one form before they are matched."""

from typing import Final
from urllib.parse import quote, unquote

from agentkeep.text import clean

ROOT: Final = "v1"


def normalised(path: str) -> str:
    """The path from `/v1` on: what a stage or a proxy put before it is dropped, and so are slashes at the end.

    Segments stay percent-encoded, each in the same way, so that an encoded slash is no border between two of them.
    """
    segments = [quote(unquote(segment), safe="") for segment in path.rstrip("/").split("/")]
    return "/" + "/".join(segments[segments.index(ROOT) :] if ROOT in segments else segments[1:])


def decoded(value: str) -> str:
    """What a path parameter stands for."""
    return clean(unquote(value))
