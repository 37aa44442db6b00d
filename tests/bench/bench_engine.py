"""How long an operation of the local DynamoDB takes among 100,000 items: `python tests/bench/bench_engine.py [fast]`.

Prints median and 95th percentile in milliseconds, through a botocore client and for the engine alone.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from botocore import xform_name
from botocore.session import Session

from agentkeep.tenancy.context import current_tenant
from infra.local.dynamodb.engine import Engine, create_tables
from infra.local.dynamodb.hook import install

ITEMS: Final = 100_000
PER_PARTITION: Final = 1_000
CALLS: Final = 400
TEXT: Final = "What a user said, at about the length of a usual message. " * 10
Request = Mapping[str, Any]


def message(n: int) -> dict[str, Any]:
    """Message `n` of all, in the conversation that it belongs to."""
    return {
        "pk": {"S": f"local#messages#{n // PER_PARTITION}"},
        "sk": {"N": str(n % PER_PARTITION)},
        "v": {"N": "1"},
        "data": {"S": TEXT},
        "gsi1pk": {"S": f"local#agent#{n % 100}"},
        "gsi1sk": {"S": f"{n:08d}"},
    }


def _key(item: Request) -> dict[str, Any]:
    return {"pk": item["pk"], "sk": item["sk"]}


def _stranger(n: int) -> dict[str, Any]:
    return message(n * 7919 % ITEMS)


def put(n: int) -> Request:
    """A new message, if it is new."""
    return {"TableName": "messages", "Item": message(ITEMS + n), "ConditionExpression": "attribute_not_exists(pk)"}


def get(n: int) -> Request:
    """One message."""
    return {"TableName": "messages", "Key": _key(_stranger(n))}


def last_20(n: int) -> Request:
    """The newest 20 messages of a conversation."""
    return {
        "TableName": "messages",
        "KeyConditionExpression": "pk = :pk AND sk < :end",
        "ExpressionAttributeValues": {":pk": _stranger(n)["pk"], ":end": {"N": "900"}},
        "ScanIndexForward": False,
        "Limit": 20,
    }


def index_20(n: int) -> Request:
    """20 keys of an index."""
    return {
        "TableName": "messages",
        "IndexName": "gsi1",
        "KeyConditionExpression": "gsi1pk = :pk",
        "ExpressionAttributeValues": {":pk": _stranger(n)["gsi1pk"]},
        "Limit": 20,
    }


def update(n: int) -> Request:
    """A counter and a list, if the version is right."""
    return {
        "TableName": "messages",
        "Key": _key(_stranger(n)),
        "UpdateExpression": "SET #log = list_append(if_not_exists(#log, :none), :entry) ADD uses :one",
        "ConditionExpression": "v = :v",
        "ExpressionAttributeNames": {"#log": "log"},
        "ExpressionAttributeValues": {
            ":none": {"L": []},
            ":entry": {"L": [{"S": "seen"}]},
            ":one": {"N": "1"},
            ":v": {"N": "1"},
        },
    }


def transact_8(n: int) -> Request:
    """Seven messages and the fenced update of their conversation."""
    first = ITEMS * 2 + n * 8
    items: list[dict[str, Any]] = [
        {
            "Put": {
                "TableName": "messages",
                "Item": message(first + i),
                "ConditionExpression": "attribute_not_exists(pk)",
            }
        }
        for i in range(7)
    ]
    conversation = {
        "TableName": "entities",
        "Key": {"pk": {"S": f"local#conversation#{n}"}, "sk": {"S": "state"}},
        "UpdateExpression": "SET fence = :f, next_seq = :n",
        "ConditionExpression": "attribute_not_exists(fence) OR fence < :f",
        "ExpressionAttributeValues": {":f": {"N": "7"}, ":n": {"N": str(n)}},
    }
    return {"TransactItems": [*items, {"Update": conversation}]}


MEASURED: Final[tuple[tuple[str, Callable[[int], Request]], ...]] = (
    ("GetItem", get),
    ("PutItem", put),
    ("Query", last_20),
    ("Query", index_20),
    ("UpdateItem", update),
    ("TransactWriteItems", transact_8),
)


def main() -> None:
    """Fills a table and measures each operation."""
    current_tenant.set("local")
    with (
        tempfile.TemporaryDirectory() as directory,
        Engine(Path(directory) / "store", fast="fast" in sys.argv) as engine,
    ):
        create_tables(engine)
        _fill(engine)
        session = Session()
        install(engine, session)
        client = session.create_client("dynamodb", region_name="us-east-1")
        sys.stdout.write(f"{'':34}client p50    p95   engine p50    p95\n")
        for operation, request in MEASURED:
            through = _measured(_by_keywords(getattr(client, xform_name(operation))), request, 0)
            alone = _measured(partial(engine.call, operation), request, CALLS)
            name = f"{operation:20}{request.__name__:14}"
            sys.stdout.write(f"{name}{through[0]:10.3f}{through[1]:7.3f}{alone[0]:13.3f}{alone[1]:7.3f}\n")


def _by_keywords(method: Callable[..., Any]) -> Callable[[Request], Any]:
    return lambda asked: method(**asked)


def _fill(engine: Engine) -> None:
    started = time.perf_counter()
    for first in range(0, ITEMS, 100):
        puts = [{"Put": {"TableName": "messages", "Item": message(n)}} for n in range(first, first + 100)]
        engine.call("TransactWriteItems", {"TransactItems": puts})
    sys.stdout.write(f"{ITEMS} items written in {time.perf_counter() - started:.1f} s\n")


def _measured(call: Callable[[Request], Any], request: Callable[[int], Request], first: int) -> tuple[float, float]:
    times = []
    for n in range(first, first + CALLS):
        asked = request(n)
        started = time.perf_counter()
        call(asked)
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times), statistics.quantiles(times, n=20)[18]


if __name__ == "__main__":
    main()
