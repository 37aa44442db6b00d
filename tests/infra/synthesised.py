"""Views on the synthesised templates, for the tests that look at them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class Template:
    """One synthesised template."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.json: dict[str, Any] = json.loads(text)
        self.resources: dict[str, Mapping[str, Any]] = self.json["Resources"]

    def of_type(self, kind: str) -> dict[str, Mapping[str, Any]]:
        """The resources of a type such as `AWS::Lambda::Function`, by logical id."""
        return {name: resource for name, resource in self.resources.items() if resource["Type"] == kind}

    def functions(self) -> dict[str, Mapping[str, Any]]:
        """The properties of each function, by the name of its folder (which its log group carries)."""
        groups = self.of_type("AWS::Logs::LogGroup")
        return {
            _last(groups[found["Properties"]["LoggingConfig"]["LogGroup"]["Ref"]]): found["Properties"]
            for found in self.of_type("AWS::Lambda::Function").values()
        }

    def function_behind(self, alias: str) -> str:
        """The name of the function that the alias with this logical id stands for."""
        function = self.resources[alias]["Properties"]["FunctionName"]["Ref"]
        return _last(self.resources[self.resources[function]["Properties"]["LoggingConfig"]["LogGroup"]["Ref"]])

    def statements(self, role: str) -> list[Mapping[str, Any]]:
        """All policy statements of the role with this logical id."""
        inline = self.resources[role]["Properties"].get("Policies", [])
        documents = [policy["PolicyDocument"] for policy in inline] + [
            policy["Properties"]["PolicyDocument"]
            for policy in self.of_type("AWS::IAM::Policy").values()
            if {"Ref": role} in policy["Properties"]["Roles"]
        ]
        return [statement for document in documents for statement in document["Statement"]]


def _last(log_group: Mapping[str, Any]) -> str:
    return str(log_group["Properties"]["LogGroupName"].rsplit("/")[-1])


@dataclass(frozen=True)
class Synthesis:
    """The app, the folder it was written to, and the templates of its stacks."""

    app: Any
    folder: Path
    data: Template
    api: Template

    def asset(self, key: str) -> Path:
        """The staged folder of an asset, from the `S3Key` that a template gives it."""
        return self.folder / f"asset.{Path(key).stem}"
