"""The data directory of one machine: what lies where in it, and how a command finds the server that uses it."""

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path


class StartError(Exception):
    """Why the server does not start: one sentence for the user, with the way out."""


@dataclass(frozen=True)
class RunningServer:
    """The server that has the directory open. `token` opens its door for commands on this machine."""

    process: int
    address: str
    token: str

    @property
    def is_alive(self) -> bool:
        """Whether its process runs. A note outlives a process that was killed."""
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # it is there, and another user's
            pass
        return True


@dataclass(frozen=True)
class DataDirectory:
    """Where everything is kept. Backing it up is copying it while the server is stopped."""

    path: Path

    @property
    def store(self) -> Path:
        """The file of the tables."""
        return self.path / "store.sqlite3"

    @property
    def objects(self) -> Path:
        """The directory of what is too large for an item."""
        return self.path / "objects"

    @property
    def key(self) -> Path:
        """The file with the encryption key. Without it the stored secrets are lost."""
        return self.path / "kms.key"

    @property
    def secrets(self) -> Path:
        """The directory of Secrets Manager."""
        return self.path / "secrets"

    def create(self) -> None:
        """Makes the directory, and closes what lies in it to others than the owner. Raises StartError."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise StartError(
                f"The data directory {self.path} cannot be made: {error.strerror}. Choose another with --data."
            ) from error
        try:
            self._close_to_others()
        except OSError as error:
            raise StartError(
                f"The data in {self.path} cannot be closed to other users: {error.strerror}. Make it your own, or"
                " choose another directory with --data."
            ) from error

    def _close_to_others(self) -> None:
        """What was made before, perhaps under another umask. SQLite gives its log the mode of its file."""
        for path in (self.objects, self.secrets):
            if path.is_dir():
                path.chmod(0o700)
        for path in (self.key, *self.path.glob(f"{self.store.name}*")):
            if path.exists():
                path.chmod(0o600)

    def note_server(self, address: str) -> RunningServer:
        """Writes down that this process serves the directory at `address`."""
        server = RunningServer(os.getpid(), address, secrets.token_urlsafe(32))
        self._note.unlink(missing_ok=True)
        with os.fdopen(os.open(self._note, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            json.dump(asdict(server), file)
        return server

    def forget_server(self) -> None:
        """Says that nobody serves the directory any more."""
        self._note.unlink(missing_ok=True)

    def running_server(self) -> RunningServer | None:
        """The server that was noted last; it may have died since. None where no note can be read."""
        try:
            return RunningServer(**json.loads(self._note.read_text()))
        except (OSError, ValueError, TypeError):
            return None

    @property
    def _note(self) -> Path:
        return self.path / "server.json"
