"""The door between clients and the engine: no credentials are looked up, and a broken data file is a server error."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import HTTPClientError
from botocore.session import Session

from infra.local.dynamodb.engine import Engine
from infra.local.dynamodb.hook import install
from tests.doubles.dynamodb import REGION, definition, engine_client, key, refused


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.in_memory() as opened:
        opened.call("CreateTable", definition("t"))
        yield opened


def test_no_credentials_are_looked_up(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session()
    monkeypatch.setattr("botocore.credentials.CredentialResolver.load_credentials", None)
    install(engine, session)

    client: Any = session.create_client("dynamodb", region_name=REGION)

    assert client.list_tables()["TableNames"] == ["t"]


def test_answer_has_the_metadata_of_an_answer(engine: Engine) -> None:
    metadata = engine_client(engine).get_item(TableName="t", Key=key("p", "s"))["ResponseMetadata"]

    assert (metadata["HTTPStatusCode"], metadata["RetryAttempts"]) == (200, 0)


def test_uninstalled_door_leads_nowhere(engine: Engine) -> None:
    session = Session()
    uninstall = install(engine, session)
    made_before: Any = session.create_client("dynamodb", region_name=REGION, endpoint_url="http://127.0.0.1:1")
    uninstall()
    made_after: Any = session.create_client("dynamodb", region_name=REGION, endpoint_url="http://127.0.0.1:1")
    engine.counters.reset()

    for client in (made_before, made_after):
        with pytest.raises(HTTPClientError, match="tried to use socket"):
            client.get_item(TableName="t", Key=key("p", "s"))

    assert engine.counters.counts.total_calls == 0


def test_broken_data_file_is_a_server_error_and_is_tried_again(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    with engine.database.storage.writing() as connection:
        connection.execute("DROP TABLE items")

    with refused("InternalServerError", "data file") as caught:
        engine_client(engine).get_item(TableName="t", Key=key("p", "s"))

    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500
    assert caught.value.response["ResponseMetadata"]["RetryAttempts"] == 2
    assert "data file cannot be used" in caplog.text
