"""Secrets Manager on a directory: the secret `a/b` is the text of the file `a%2Fb`."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

from infra.local.aws.service import AwsError, Operation, Parameters


class Secrets:
    """Secrets that somebody put into the directory. They are read each time."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @property
    def operations(self) -> dict[str, Operation]:
        """What is served, by AWS's name."""
        return {"GetSecretValue": self._get}

    def _get(self, parameters: Parameters) -> dict[str, Any]:
        name = parameters["SecretId"]
        try:
            text = (self._directory / quote(name, safe="").replace(".", "%2E")).read_text()
        except FileNotFoundError as error:
            raise AwsError("ResourceNotFoundException", f"There is no secret '{name}'.") from error
        return {"ARN": name, "Name": name, "SecretString": text}
