"""The tables of this machine for a command: the data file itself, or through the server that has it open."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from agentkeep.tenancy.client import adopt, forget_clients
from infra.local.aws.service import serve
from infra.local.command_door import DoorClosedError, operations_through
from infra.local.data_directory import DataDirectory, StartError
from infra.local.dynamodb.errors import DataDirectoryLocked, NewerDataFormat
from infra.local.environment import applied, function_environment
from infra.local.services import new_session, services


class StoreNotReachedError(Exception):
    """Why a command cannot get at the tables: one sentence for the user."""


@contextmanager
def local_tables(data: Path) -> Iterator[None]:
    """Inside, clients of the system table reach the one in `data`. Raises StoreNotReachedError."""
    directory = DataDirectory(data.absolute())
    with ExitStack() as stack:
        stack.enter_context(applied(function_environment(require_keys=True)))
        try:
            stack.enter_context(services(directory))
        except DataDirectoryLocked as error:
            stack.enter_context(_through_server(directory, error))
        except (StartError, NewerDataFormat) as error:
            raise StoreNotReachedError(str(error)) from error
        try:
            yield
        except DoorClosedError as error:
            raise StoreNotReachedError(str(error)) from error


@contextmanager
def _through_server(directory: DataDirectory, locked: DataDirectoryLocked) -> Iterator[None]:
    server = directory.running_server()
    if server is None:
        raise StoreNotReachedError(str(locked)) from locked
    session = new_session()
    serve(session, "dynamodb", operations_through(server))
    adopt({"system": session})
    try:
        yield
    finally:
        forget_clients()
