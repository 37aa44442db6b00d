"""Finds the handlers of the functions, importing each the first time it is called."""

import importlib
import threading

from infra.local.invocation import Handler


class Functions:
    """The deployed functions by name. Safe under threads: a function that is being imported is waited for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handlers: dict[str, Handler] = {}

    def handler(self, name: str) -> Handler:
        """`functions/<name>/handler.py: lambda_handler`. Raises ModuleNotFoundError when there is none."""
        found = self._handlers.get(name)
        return found if found is not None else self._import(name)

    def _import(self, name: str) -> Handler:
        with self._lock:
            handler: Handler = importlib.import_module(f"functions.{name}.handler").lambda_handler
            self._handlers[name] = handler
        return handler
