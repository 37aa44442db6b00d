"""What goes wrong: errors as DynamoDB answers them, and the two reasons for which a data file is not opened."""

from pathlib import Path
from typing import Any


class DynamoError(Exception):
    """An error answer: DynamoDB's code and message, the HTTP status, and members such as `CancellationReasons`."""

    def __init__(self, code: str, message: str, *, status: int = 400, **members: Any) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.members = members


def invalid(message: str) -> DynamoError:
    """A ValidationException."""
    return DynamoError("ValidationException", message)


class DataDirectoryLocked(Exception):  # noqa: N818 - says what is the case
    """Another process has the data open. `pid` is its process id, None when it could not be read."""

    def __init__(self, path: Path, pid: int | None) -> None:
        holder = f"process {pid}" if pid is not None else "another process"
        super().__init__(f"The data in {path.parent} is in use by {holder}. Stop it, or choose another data directory.")
        self.path = path
        self.pid = pid


class NewerDataFormat(Exception):  # noqa: N818
    """The data was written by a newer version of AgentKeep (`found`) than this one (`known`)."""

    def __init__(self, path: Path, found: int, known: int) -> None:
        super().__init__(
            f"{path} has data format {found}; this version of AgentKeep reads up to {known}."
            " Install the newer version again, or choose another data directory."
        )
        self.path = path
        self.found = found
        self.known = known


class UnreadableData(Exception):  # noqa: N818
    """The data file cannot be opened: damaged, no data file at all, or not for this user."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path} cannot be used: {reason.rstrip('.')}. Put a backup in its place, or choose another data directory."
        )
        self.path = path


class EngineClosed(Exception):  # noqa: N818
    """The engine was closed, and its data with it."""

    def __init__(self) -> None:
        super().__init__("The DynamoDB engine is closed.")
