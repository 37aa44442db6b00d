"""Which AgentKeep this is, and which Letta API it speaks."""

from typing import Final

from agentkeep import __version__

VERSION: Final = __version__
LETTA_API: Final = "0.16.7"
