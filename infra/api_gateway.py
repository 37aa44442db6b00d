"""What API Gateway does by itself, said once: its own answers, its limits, the bodies it encodes.

Read by the API stack, which configures it, and by the local gateway, which does the same.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class OwnAnswer:
    """An answer without a function: `{"detail": sentence}` with `status`. `type` is API Gateway's response type."""

    type: str
    status: int
    sentence: str


UNAUTHORIZED: Final = OwnAnswer(
    "UNAUTHORIZED",
    401,
    "An API key is needed, and this one is missing or not good. Send it as 'Authorization: Bearer ak_...'.",
)
ACCESS_DENIED: Final = OwnAnswer("ACCESS_DENIED", 403, "This API key may not call this API.")
REQUEST_TOO_LARGE: Final = OwnAnswer(
    "REQUEST_TOO_LARGE", 413, "The body is larger than this deployment takes, which is about 6 MB."
)
AUTHORIZER_FAILURE: Final = OwnAnswer("AUTHORIZER_FAILURE", 500, "The API key could not be checked. Try again shortly.")
INTEGRATION_TIMEOUT: Final = OwnAnswer(
    "INTEGRATION_TIMEOUT", 504, "The function behind this path took too long. Try again shortly."
)
FUNCTION_FAILED: Final = OwnAnswer("DEFAULT_5XX", 502, "Internal server error")
"""What a function that raises or answers nonsense becomes."""

BUFFERED_SECONDS: Final = 29
"""The longest wait for an answer in one piece (REST API quotas, integration timeout)."""

STREAMED_SECONDS: Final = 900
"""The longest that a streamed answer lasts, and that a Lambda works (developer guide, "Response transfer mode")."""

STREAM_IDLE_SECONDS: Final = 300
"""The longest silence in a stream of a Regional API (same page)."""

REQUEST_BYTES: Final = 10 * 1024 * 1024
"""The largest body that API Gateway takes (REST API quotas)."""

PAYLOAD_BYTES: Final = 6 * 1024 * 1024
"""The largest event, and the largest answer in one piece, of a Lambda (Lambda quotas, synchronous invocation)."""

STREAM_BYTES: Final = 200 * 1024 * 1024
"""The largest streamed answer of a Lambda (Lambda quotas)."""

BINARY_MEDIA_TYPES: Final = ("multipart/form-data", "application/octet-stream")
"""Bodies of these types reach a function as base64, all others as text."""
