"""What a former server process left unfinished: its runs are gone on with when the next one has started."""

import logging
import threading
from typing import Final

from agentkeep.tenancy import keys
from agentkeep.tenancy.context import LOCAL_TENANT, Caller, acting_as
from agentkeep.unforeseen import log_unforeseen
from infra.local.dynamodb.errors import EngineClosed

_log: Final = logging.getLogger(__name__)


def start() -> threading.Thread:
    """Goes on with interrupted runs of every tenant, in the background: the server answers meanwhile."""
    thread = threading.Thread(target=_resume, name="recovery", daemon=True)
    thread.start()
    return thread


def _resume() -> None:
    try:
        _resume_all()
    except EngineClosed:
        _log.info("The server stopped before all interrupted runs were gone on with.")


def _resume_all() -> None:
    from agentkeep.loop.turns import resume_interrupted  # 0.3 s, which would be part of the time to the first answer

    tenants = dict.fromkeys([LOCAL_TENANT, *(key.tenant for key in keys.listing())])
    for tenant in tenants:
        with acting_as(Caller(tenant, "agentkeep", "admin")):
            try:
                resumed = resume_interrupted()
            except EngineClosed:
                raise
            except Exception as error:  # the border of the thread; whoever needs the conversation next settles the run
                log_unforeseen(error, f"going on with the interrupted runs of {tenant}")
                continue
        if resumed:
            _log.warning("Went on with %d interrupted runs of %s.", resumed, tenant)
