"""Model servers without a socket: what stands at which address, which keys are good there, and who asked."""

from collections.abc import Sequence
from typing import Any

import pytest

from agentkeep.models import ModelAnswer, ModelRequest, calls, lists
from agentkeep.models.endpoints import Endpoint
from agentkeep.models.errors import ModelAuthenticationError, ProviderUnavailableError
from agentkeep.store.entities import ProviderModel
from tests.doubles.models import says

BAD_KEY = "bad-key"


class ModelServers:
    """Takes the place of reading model lists and of calling models. An address without a server is down."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._models: dict[str, list[ProviderModel]] = {}
        self._everywhere: list[ProviderModel] | None = None
        self.listed: list[tuple[str, str]] = []
        self.called: list[tuple[str, str, str]] = []
        monkeypatch.setattr(lists, "read", self._read)
        monkeypatch.setattr(lists, "check_key", self._read)
        for shape in ("openai", "anthropic"):
            monkeypatch.setitem(calls._SHAPES, shape, self._call)  # type: ignore[arg-type]

    def stands_at(self, address: str, *names: str, **limits: Any) -> None:
        """A server at `address` lists these models."""
        self._models[address] = [ProviderModel(id=name, **limits) for name in names]

    def stands_everywhere(self, *names: str) -> None:
        """Where no other server stands there is one with these models."""
        self._everywhere = [ProviderModel(id=name) for name in names]

    def goes_down(self, address: str) -> None:
        """Nothing answers at `address` any more."""
        del self._models[address]

    def _read(self, endpoint: Endpoint) -> Sequence[ProviderModel]:
        self.listed.append((endpoint.base_url, endpoint.api_key))
        return self._admitted(endpoint)

    def _call(self, request: ModelRequest, endpoint: Endpoint, seconds: float) -> ModelAnswer:
        self._admitted(endpoint)
        self.called.append((endpoint.base_url, endpoint.api_key, request.model))
        return says(f"Greetings from {endpoint.base_url}.")

    def _admitted(self, endpoint: Endpoint) -> Sequence[ProviderModel]:
        models = self._models.get(endpoint.base_url, self._everywhere)
        if models is None:
            raise ProviderUnavailableError("Nothing answers.")
        if endpoint.api_key == BAD_KEY:
            raise ModelAuthenticationError(f"The model provider '{endpoint.provider}' refused its API key.")
        return models
