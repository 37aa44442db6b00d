"""Keeps strangers' web pages out of a server that asks for no key.

A page of any site can send requests to 127.0.0.1 from the browser of someone who runs `agentkeep local`. Without keys
nothing else tells it from the user, so the origin of a page and the name it used for this machine are looked at.
"""

from collections.abc import Collection
from dataclasses import dataclass

from infra.api_gateway import OwnAnswer
from infra.local.request import Request, host_of, is_loopback


@dataclass(frozen=True)
class BrowserDoor:
    """Lets in what names this machine as `hosts` and comes from no page, a page of this machine, or one of `origins`.

    `origins` may hold `*`, `hosts` too. The name matters because a stranger's name can be made to point here.
    """

    origins: Collection[str] = ()
    hosts: Collection[str] = ()

    def refusal(self, request: Request) -> OwnAnswer | None:
        """Why a request is not let in; None when it is.

        A preflight always is: it does nothing, and the page that asks is to see the reason given to its real request.
        """
        if request.method == "OPTIONS":
            return None
        origin, host = request.header("origin"), host_of(request.header("host"))
        if origin is not None and not self._knows_origin(origin):
            return _closed(f"Pages of {origin} may not call this server. {_remedy('AGENTKEEP_CORS_ORIGINS', origin)}")
        if not self._knows_host(host):
            return _closed(f"This server does not answer as '{host}'. {_remedy('AGENTKEEP_ALLOWED_HOSTS', host)}")
        return None

    def _knows_origin(self, origin: str) -> bool:
        return bool({"*", origin} & set(self.origins)) or is_loopback(host_of(origin))

    def _knows_host(self, host: str) -> bool:
        return bool({"*", host} & set(self.hosts)) or is_loopback(host)


def _closed(sentence: str) -> OwnAnswer:
    return OwnAnswer("ACCESS_DENIED", 403, sentence)


def _remedy(variable: str, value: str) -> str:
    return f"Start it with {variable}={value} to allow that, or with --require-keys."
