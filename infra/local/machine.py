"""One machine put together: the services that stand in for AWS, the functions' environment, and the gateway."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from infra.local.browsers import BrowserDoor
from infra.local.data_directory import DataDirectory
from infra.local.environment import STAGE, applied, function_environment
from infra.local.functions import Functions
from infra.local.gateway import Gateway, GatewaySettings
from infra.local.resources import ResourceTree
from infra.local.services import services
from infra.local.sweeper import Sweeper
from infra.local.weather import CALM, Weather
from infra.routes import ROUTES

_log: Final = logging.getLogger(__name__)
FUNCTIONS: Final = ("authorizer", *sorted({route.function for route in ROUTES}))


@dataclass(frozen=True)
class MachineSettings:
    """What kind of machine it is. `fast` trades the newest writes at a power loss for speed.

    `strict` fails invocations that leave threads behind, `weather` is what the tables do to callers. `allowed_hosts`
    are names that this machine may be called by, and `cors_origins` pages that may call it, beside its own.
    """

    directory: DataDirectory
    require_keys: bool = False
    allow_private_urls: bool = False
    fast: bool = False
    strict: bool = False
    authorizer_cache_seconds: float = 60
    cors_origins: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    weather: Weather = CALM


class Machine:
    """A system that can be called: its functions, and the gateway in front of them."""

    def __init__(self, settings: MachineSettings) -> None:
        self.functions = Functions()
        self.gateway = Gateway(
            ResourceTree(ROUTES),
            self.functions.handler,
            GatewaySettings(
                stage=STAGE,
                requires_key=settings.require_keys,
                authorizer_cache_seconds=settings.authorizer_cache_seconds,
                strict=settings.strict,
                door=None if settings.require_keys else BrowserDoor(settings.cors_origins, settings.allowed_hosts),
            ),
        )

    def import_functions(self) -> None:
        """Imports what the first requests would otherwise wait for. What cannot be imported fails when it is called."""
        for name in FUNCTIONS:
            try:
                self.functions.handler(name)
            except ImportError:
                _log.exception("The function '%s' cannot be imported.", name)


@contextmanager
def running(settings: MachineSettings) -> Iterator[Machine]:
    """The machine, from the opened data directory to the closed one.

    Raises DataDirectoryLocked or one of `services.NOT_OPENED`, each with a sentence for the user.
    """
    variables = function_environment(require_keys=settings.require_keys, allow_private_urls=settings.allow_private_urls)
    with (
        applied(variables),
        services(settings.directory, fast=settings.fast, weather=settings.weather) as engine,
        Sweeper(engine),
    ):
        yield Machine(settings)
