"""The tables of this machine for a command: the data file itself, or through the server that has it open."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from agentkeep.tenancy.client import adopt, forget_clients
from infra.local.aws.service import serve
from infra.local.command_door import DoorClosedError, operations_through
from infra.local.data_directory import DataDirectory
from infra.local.dynamodb.errors import DataDirectoryLocked
from infra.local.environment import applied, function_environment
from infra.local.services import NOT_OPENED, new_session, services


class StoreNotReachedError(Exception):
    """Why a command cannot get at the tables: one sentence for the user."""


@contextmanager
def local_tables(data: Path, *, make: bool) -> Iterator[None]:
    """Inside, clients of the system table reach the one in `data`, which `make` lets be made where there is none.

    Raises StoreNotReachedError.
    """
    directory = DataDirectory(data.absolute())
    if not make and not directory.store.exists():
        raise StoreNotReachedError(
            f"There is no data in {directory.path}. `agentkeep local` and `agentkeep keys create` make it there;"
            " --data names another directory, --stage a deployment."
        )
    with ExitStack() as stack:
        stack.enter_context(applied(function_environment(require_keys=True)))
        try:
            stack.enter_context(services(directory))
        except DataDirectoryLocked as error:
            stack.enter_context(_through_server(directory, error))
        except NOT_OPENED as error:
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
