"""One resolver under many threads: no answer, streamed or not, holds anything of another tenant."""

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from agentkeep.api.resolver import Resolver
from agentkeep.api.stream import StreamedResponse
from agentkeep.tenancy.context import current_caller, current_tenant
from tests.unit.api.proxy import call

app = Resolver()


def _seen(asked: str) -> dict[str, str]:
    time.sleep(random.random() / 1000)
    return {
        "asked": asked,
        "path": app.current_event.path,
        "body": app.current_event.json_body["mine"],
        "authorizer": app.current_event.request_context.authorizer.get("tenant"),
        "caller": current_caller.get().principal,
        "tenant": current_tenant.get(),
    }


@app.post("/v1/whole/<name>", permission="agent:read")
def whole(name: str) -> dict[str, str]:
    return _seen(name)


@app.post("/v1/streamed/<name>", permission="agent:read", streaming=True)
def streamed(name: str) -> StreamedResponse:
    def body() -> Iterator[bytes]:
        yield b"["
        for _ in range(3):
            yield str(_seen(name)).replace("'", '"').encode() + b","
        yield b"0]"

    return StreamedResponse(200, {}, body())


def test_no_answer_crosses_tenants() -> None:
    def ask(number: int) -> tuple[object, object]:
        tenant, kind = f"tenant{number % 7:02}", ("whole", "streamed")[number % 2]
        path = f"/v1/{kind}/n{number}"
        answer = call(app, "POST", path, {"mine": str(number)}, tenant=tenant)
        own = {
            "asked": f"n{number}",
            "path": path,
            "body": str(number),
            "authorizer": tenant,
            "caller": f"of-{tenant}",
            "tenant": tenant,
        }
        return answer.json, own if kind == "whole" else [own, own, own, 0]

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, range(2000)))

    assert [seen for seen, own in answers if seen != own] == []
