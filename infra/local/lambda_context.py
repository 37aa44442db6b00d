"""The context object that a handler receives, as Lambda's Python runtime makes it."""

import time
import uuid
from dataclasses import dataclass, field
from typing import Final

_ACCOUNT: Final = "000000000000"


@dataclass
class LambdaContext:
    """One invocation of a function. `seconds`: how long it may run."""

    function_name: str
    seconds: float
    memory_limit_in_mb: int = 1024
    aws_request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    function_version: str = "$LATEST"
    identity: None = None
    client_context: None = None
    tenant_id: str | None = None

    def __post_init__(self) -> None:
        self._deadline = time.monotonic() + self.seconds

    @property
    def invoked_function_arn(self) -> str:
        """The function's name in an account that does not exist."""
        return f"arn:aws:lambda:local:{_ACCOUNT}:function:{self.function_name}"

    @property
    def log_group_name(self) -> str:
        """Where the function would log in AWS."""
        return f"/aws/lambda/{self.function_name}"

    @property
    def log_stream_name(self) -> str:
        """There is one stream on one machine."""
        return "local"

    def get_remaining_time_in_millis(self) -> int:
        """How long until the invocation is given up."""
        return max(0, int((self._deadline - time.monotonic()) * 1000))
