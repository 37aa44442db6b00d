"""S3, KMS and Secrets Manager on a directory, through the library's own clients."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from agentkeep.tenancy.client import client, system_client
from agentkeep.tenancy.context import Caller, acting_as
from infra.local.data_directory import DataDirectory
from infra.local.services import services

BUCKET = "agentkeep-local"
KEY = "alias/agentkeep-local"
CONTEXT = {"tenant": "anncorp11"}
ANN = Caller("anncorp11", "key-1", "admin")
BOB = Caller("bobcorp22", "key-2", "admin")


@pytest.fixture
def directory(tmp_path: Path) -> DataDirectory:
    return DataDirectory(tmp_path / "data")


@pytest.fixture(autouse=True)
def running(directory: DataDirectory) -> Iterator[None]:
    with services(directory, fast=True):
        yield


@pytest.fixture
def ann() -> Iterator[Caller]:
    with acting_as(ANN):
        yield ANN


def code(error: "pytest.ExceptionInfo[ClientError]") -> str:
    return error.value.response["Error"]["Code"]


@pytest.mark.usefixtures("ann")
class TestObjects:
    def test_gives_back_what_was_put_with_its_metadata(self) -> None:
        put = client("s3").put_object(
            Bucket=BUCKET, Key="anncorp11/a", Body=b"\x00one\nline", ContentType="text/x", Metadata={"run": "run-1"}
        )
        got = client("s3").get_object(Bucket=BUCKET, Key="anncorp11/a")

        assert got["Body"].read() == b"\x00one\nline"
        assert (got["ContentLength"], got["ContentType"], got["Metadata"]) == (9, "text/x", {"run": "run-1"})
        assert got["ETag"] == put["ETag"]

    def test_an_object_that_was_never_put_is_not_there(self) -> None:
        with pytest.raises(ClientError) as error:
            client("s3").get_object(Bucket=BUCKET, Key="anncorp11/a")

        assert code(error) == "NoSuchKey"

    def test_outlives_the_process(self, directory: DataDirectory, running: None) -> None:
        client("s3").put_object(Bucket=BUCKET, Key="anncorp11/a", Body=b"kept")

        files = [path for path in directory.objects.rglob("*") if path.is_file()]

        assert len(files) == 1
        assert files[0].read_bytes().endswith(b"\nkept")

    @pytest.mark.parametrize(
        "name", ["a", "a/b", "a//b", "/", "..", "../../x", ".", "ü/日本", "a b+c%2F", "a%object", "%empty", "x" * 200]
    )
    def test_takes_any_key_and_keeps_it_inside_the_directory(self, directory: DataDirectory, name: str) -> None:
        key = f"anncorp11/{name}"

        client("s3").put_object(Bucket=BUCKET, Key=key, Body=name.encode())

        assert client("s3").get_object(Bucket=BUCKET, Key=key)["Body"].read() == name.encode()
        assert len([path for path in directory.objects.rglob("*") if path.is_file()]) == 1
        assert {path.name for path in directory.path.parent.iterdir()} == {"data"}

    def test_a_key_may_be_the_beginning_of_another(self) -> None:
        for key in ("anncorp11/a", "anncorp11/a/b", "anncorp11/a/b/c"):
            client("s3").put_object(Bucket=BUCKET, Key=key, Body=key.encode())

        assert client("s3").get_object(Bucket=BUCKET, Key="anncorp11/a/b")["Body"].read() == b"anncorp11/a/b"

    def test_readers_see_the_old_or_the_new_never_a_part(self) -> None:
        bodies = [letter * 200_000 for letter in (b"a", b"b")]
        client("s3").put_object(Bucket=BUCKET, Key="anncorp11/x", Body=bodies[0])
        stop = threading.Event()

        def write() -> None:
            with acting_as(ANN):
                while not stop.is_set():
                    for body in bodies:
                        client("s3").put_object(Bucket=BUCKET, Key="anncorp11/x", Body=body)

        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            seen = {client("s3").get_object(Bucket=BUCKET, Key="anncorp11/x")["Body"].read() for _ in range(50)}
            stop.set()
            writing.result()

        assert seen <= set(bodies)

    def test_what_is_not_served_says_so(self) -> None:
        with pytest.raises(NotImplementedError, match="s3 CreateBucket is not served on one machine"):
            client("s3").create_bucket(Bucket="other")


class TestIsolation:
    def test_an_object_of_another_tenant_is_out_of_reach(self) -> None:
        with acting_as(ANN):
            client("s3").put_object(Bucket=BUCKET, Key="anncorp11/x", Body=b"ann")
        asked: Any = {"Bucket": BUCKET, "Key": "anncorp11/x"}
        calls: list[Any] = [
            lambda: client("s3").get_object(**asked),
            lambda: client("s3").put_object(**asked, Body=b"bob"),
        ]

        for call in calls:
            with acting_as(BOB), pytest.raises(ClientError) as error:
                call()
            assert code(error) == "AccessDenied"

    def test_without_a_tenant_nothing_is_reached(self) -> None:
        with pytest.raises(ClientError) as error:
            client("s3").get_object(Bucket=BUCKET, Key="anncorp11/x")

        assert code(error) == "AccessDenied"

    @pytest.mark.parametrize("context", [{}, {"tenant": "anncorp11"}, {"other": "bobcorp22"}])
    def test_encryption_contexts_have_to_name_the_tenant(self, context: dict[str, str]) -> None:
        with acting_as(BOB), pytest.raises(ClientError) as error:
            client("kms").encrypt(KeyId=KEY, Plaintext=b"x", EncryptionContext=context)

        assert code(error) == "AccessDeniedException"


class TestKeys:
    @pytest.mark.usefixtures("ann")
    def test_opens_with_the_same_context_only(self) -> None:
        sealed = client("kms").encrypt(KeyId=KEY, Plaintext=b"sk-1", EncryptionContext=CONTEXT)["CiphertextBlob"]

        opened = client("kms").decrypt(KeyId=KEY, CiphertextBlob=sealed, EncryptionContext=CONTEXT)
        with pytest.raises(ClientError) as error:
            client("kms").decrypt(KeyId=KEY, CiphertextBlob=sealed, EncryptionContext={**CONTEXT, "purpose": "other"})

        assert opened["Plaintext"] == b"sk-1"
        assert code(error) == "InvalidCiphertextException"

    @pytest.mark.usefixtures("ann")
    def test_the_key_outlives_the_process(self, directory: DataDirectory, tmp_path: Path) -> None:
        sealed = client("kms").encrypt(KeyId=KEY, Plaintext=b"sk-1", EncryptionContext=CONTEXT)["CiphertextBlob"]
        copy = DataDirectory(tmp_path / "copy")
        copy.create()
        copy.key.write_bytes(directory.key.read_bytes())

        with services(copy, fast=True):
            opened = client("kms").decrypt(KeyId=KEY, CiphertextBlob=sealed, EncryptionContext=CONTEXT)

        assert opened["Plaintext"] == b"sk-1"

    def test_a_damaged_key_file_is_not_used(self, tmp_path: Path) -> None:
        damaged = DataDirectory(tmp_path / "damaged")
        damaged.create()
        damaged.key.write_bytes(b"short")

        with pytest.raises(ValueError, match=r"kms\.key is damaged: it holds 5 bytes instead of 32"), services(damaged):
            pass


def test_a_secret_is_the_file_of_its_name(directory: DataDirectory) -> None:
    directory.secrets.mkdir()
    (directory.secrets / "agentkeep%2Fdev%2Fproviders").write_text('{"OPENAI_API_KEY": "sk-1"}')

    found = system_client("secretsmanager").get_secret_value(SecretId="agentkeep/dev/providers")
    with pytest.raises(ClientError) as error:
        system_client("secretsmanager").get_secret_value(SecretId="other")

    assert found["SecretString"] == '{"OPENAI_API_KEY": "sk-1"}'
    assert code(error) == "ResourceNotFoundException"
