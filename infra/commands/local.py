"""`agentkeep local`: the whole system on this machine, until Ctrl-C."""

import logging
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import typer

from agentkeep import settings
from agentkeep.errors import SettingError
from infra.commands import greeting
from infra.local.data_directory import DataDirectory, StartError
from infra.local.dynamodb.errors import DataDirectoryLocked
from infra.local.listening import listen
from infra.local.machine import Machine, MachineSettings
from infra.local.process import LocalProcess
from infra.local.request import is_loopback
from infra.local.services import NOT_OPENED
from infra.local.weather import CALM, Weather


@dataclass(frozen=True)
class Options:
    """How the command was called. With `ephemeral`, a directory of its own takes the place of `data`; without a word
    about private addresses, they are allowed while no keys are asked for."""

    host: str
    port: int
    data: Path
    ephemeral: bool
    require_keys: bool
    allow_private_urls: bool | None
    log_level: str
    fast: bool


def serve(options: Options) -> NoReturn:
    """Runs the server and ends the process: 0 after Ctrl-C or SIGTERM, 1 with a sentence when it cannot start.

    The process ends without waiting for threads: a turn at work is closed or resumed at the next start.
    """
    _log_to_stderr(options.log_level)
    os.umask(0o077)
    code = 0
    try:
        _serve(options)
    except (SettingError, DataDirectoryLocked, *NOT_OPENED) as error:
        typer.echo(error, err=True)
        code = 1
    except KeyboardInterrupt:
        pass
    with suppress(BrokenPipeError):
        sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _serve(options: Options) -> None:
    settings.check()
    if not is_loopback(options.host) and not options.require_keys:
        raise StartError(
            f"On {options.host} others can reach this server, so it has to ask for keys."
            " Add --require-keys, or keep to --host 127.0.0.1."
        )
    bound = listen(options.host, options.port, DataDirectory(options.data.absolute()))
    with _directory(options) as directory:
        process = LocalProcess(_settings(options, directory), bound)
        process.run(lambda machine: _in_background(lambda: _greet(machine, process.address, options, directory)))


def _greet(machine: Machine, address: str, options: Options, directory: DataDirectory) -> None:
    with suppress(BrokenPipeError):  # whoever read the greeting has seen enough
        greeting.show_address(address, directory.path, ephemeral=options.ephemeral, require_keys=options.require_keys)
        greeting.show_models(address, require_keys=options.require_keys)
    machine.import_functions()
    _load_sdks()


def _load_sdks() -> None:
    """So that the first turn does not wait some seconds for the import of its provider's SDK."""
    from agentkeep.models import list_models, warm

    warm([model.handle for model in list_models()])


def _settings(options: Options, directory: DataDirectory) -> MachineSettings:
    return MachineSettings(
        directory,
        require_keys=options.require_keys,
        allow_private_urls=_may_reach_private(options),
        fast=options.fast or options.ephemeral,
        strict=os.environ.get("AGENTKEEP_STRICT") == "1",
        authorizer_cache_seconds=settings.AUTHORIZER_CACHE_SECONDS.read(),
        cors_origins=_listed("AGENTKEEP_CORS_ORIGINS"),
        allowed_hosts=_listed("AGENTKEEP_ALLOWED_HOSTS"),
        weather=_weather(os.environ.get("AGENTKEEP_WEATHER")),
    )


def _may_reach_private(options: Options) -> bool:
    """Without keys the only caller is the owner of this machine, who may well have a model server on it."""
    return not options.require_keys if options.allow_private_urls is None else options.allow_private_urls


def _weather(seed: str | None) -> Weather:
    """For trials: `AGENTKEEP_WEATHER=<seed>` has the tables do to the functions what AWS may do."""
    if not seed:
        return CALM
    if not seed.isdecimal():
        raise SettingError("AGENTKEEP_WEATHER", seed, "a seed of digits, such as 7")
    return Weather.storm(int(seed))


@contextmanager
def _directory(options: Options) -> Iterator[DataDirectory]:
    if not options.ephemeral:
        yield DataDirectory(options.data.absolute())
        return
    path = tempfile.mkdtemp(prefix="agentkeep-")
    try:
        yield DataDirectory(Path(path))
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _listed(variable: str) -> tuple[str, ...]:
    return tuple(each.strip().lower() for each in os.environ.get(variable, "").split(",") if each.strip())


def _log_to_stderr(level: str) -> None:
    logging.basicConfig(level=level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    os.environ["POWERTOOLS_LOG_LEVEL"] = level.upper()


def _in_background(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="greeting", daemon=True).start()
