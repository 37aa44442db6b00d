"""What `agentkeep local` says when it is up: where it is, what it found, and a first agent to paste."""

import os
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from infra.commands.version import VERSION

if TYPE_CHECKING:
    from agentkeep.models import ModelInfo

_SHOWN: Final = 3
_DEMO: Final = "demo"


def show_address(address: str, data: Path, *, ephemeral: bool, require_keys: bool) -> None:
    """Printed as soon as requests are taken."""
    typer.echo(f"AgentKeep {VERSION} is ready at {address}\n")
    typer.echo(f"  data    {data}{' (removed at the end)' if ephemeral else ''}")
    if require_keys:
        typer.echo(f"  keys    asked for; make one with: agentkeep keys create --name me --data {data}")
    else:
        typer.echo("  keys    none needed: whoever can reach this address is tenant 'local'")


def show_models(address: str, *, require_keys: bool) -> None:
    """Printed when the providers have answered, or have been given up on."""
    from agentkeep.models import list_models

    models = list_models()
    for line in model_lines(models):
        typer.echo(f"  models  {line}")
    typer.echo("\nA first agent, for Python with letta-client:\n")
    for line in first_agent(address, models[0].handle, require_keys=require_keys):
        typer.echo(f"  {line}")
    typer.echo("\nCtrl-C ends the server; what it keeps stays.")


def model_lines(models: "Sequence[ModelInfo]") -> list[str]:
    """One line for each provider: how many models, where from, which. Or that there is no provider, and what serves."""
    found = [_line(provider, list(group)) for provider, group in groupby(models, lambda model: model.provider_name)]
    if all(model.provider_name == _DEMO for model in models):
        return ["demo/memory only, a small rule-based model: no OPENAI_API_KEY and no ANTHROPIC_API_KEY is set"]
    return found


def first_agent(address: str, model: str, *, require_keys: bool) -> tuple[str, str, str]:
    """Three lines of Python that make an agent and talk to it."""
    key = ', api_key="ak_..."' if require_keys else ""
    return (
        f'from letta_client import Letta; client = Letta(base_url="{address}"{key})',
        f'agent = client.agents.create(model="{model}", memory_blocks=[{{"label": "human", "value": ""}}])',
        'print(client.agents.messages.create(agent.id, input="Hello! My name is Ada.").messages[-1].content)',
    )


def _line(provider: str, models: "Sequence[ModelInfo]") -> str:
    if provider == _DEMO:
        return "demo/memory, built in"
    names = ", ".join(model.handle for model in models[:_SHOWN])
    more = f" and {len(models) - _SHOWN} more" if len(models) > _SHOWN else ""
    from agentkeep.models.address import without_user

    return f"{names}{more}, from {without_user(models[0].endpoint)} ({_variable(provider)})"


def _variable(provider: str) -> str:
    """The environment variable that made the provider known."""
    names = (f"{provider.upper()}_API_KEY", f"{provider.upper()}_BASE_URL")
    return next((name for name in names if os.environ.get(name)), "found by itself")
