"""What answers: layers, functions, and the REST API in front of them. All rights on what is kept are granted here."""

from pathlib import Path
from typing import Final

from aws_cdk import CfnOutput, Duration, Environment, Stack
from constructs import Construct

from infra.api_gateway import BUFFERED_SECONDS, STREAMED_SECONDS
from infra.constructs.function import Function
from infra.constructs.layer import Layer, folder_code, vendor_code
from infra.constructs.resource_tree import PREFLIGHT, resource_tree, with_method
from infra.constructs.rest_api import RestApi
from infra.routes import ROUTES
from infra.settings import Settings
from infra.stacks.access import NO_TENANT_DATA, PROVIDER_ACCESS, SYSTEM_ACCESS
from infra.stacks.data import DataStack
from infra.stacks.statements import KEY_TO_READ, reading, system_items, taking, through

ROOT: Final = Path(__file__).resolve().parents[2]
AUTHORIZER: Final = "authorizer"
STREAMING: Final = frozenset(route.function for route in ROUTES if route.streaming)
FUNCTIONS: Final = (AUTHORIZER, *sorted({route.function for route in ROUTES}))
MEMORY_MB: Final = 1024
"""0.6 of a processor: enough to import and answer quickly, and a turn spends its time waiting for the model."""


class ApiStack(Stack):
    """Functions hold no rights on tenant data: they take the data role for the tenant they work for."""

    def __init__(self, scope: Construct, *, data: DataStack, settings: Settings) -> None:
        super().__init__(
            scope,
            "Api",
            stack_name=f"{settings.prefix}-api",
            description=f"AgentKeep, stage {settings.stage}: functions and HTTP API",
            env=Environment(region=settings.region),
        )
        self._data = data
        self._settings = settings
        self._layers = [
            Layer(self, "Library", code=folder_code(ROOT / "layers/agentkeep"), description="The package agentkeep"),
            Layer(self, "Vendor", code=vendor_code(ROOT / "layers/vendor"), description="Packages that it imports"),
        ]
        self.functions = {name: self._new_function(name) for name in FUNCTIONS}
        self.api = RestApi(
            self,
            "Rest",
            tree=with_method(resource_tree(ROUTES), "OPTIONS", PREFLIGHT),
            functions=self.functions,
            authorizer=self.functions[AUTHORIZER],
            settings=settings,
        )
        self._grant()
        self._say_addresses()

    def _new_function(self, name: str) -> Function:
        return Function(
            self,
            name.capitalize(),
            code=folder_code(ROOT / "functions" / name),
            layers=self._layers,
            environment=self._environment(name),
            role_path=f"{self._settings.role_path}functions/",
            log_group_name=f"/agentkeep/{self._settings.stage}/functions/{name}",
            log_retention_days=self._settings.log_retention_days,
            memory_mb=MEMORY_MB,
            timeout=self._timeout(name),
            streaming=name in STREAMING,
            reserved_concurrency=self._reserved_concurrency(name),
        )

    def _environment(self, name: str) -> dict[str, str]:
        settings = self._settings
        providers = {"AGENTKEEP_PROVIDERS_SECRET": settings.providers_secret} if name in PROVIDER_ACCESS else {}
        return {
            **self._data.variables,
            **providers,
            "AGENTKEEP_STAGE": settings.stage,
            "AGENTKEEP_REQUIRE_KEYS": "1",
            "AGENTKEEP_CORS_ORIGINS": ",".join(settings.cors_origins),
        }

    def _timeout(self, name: str) -> Duration:
        return Duration.seconds(STREAMED_SECONDS if name in STREAMING else BUFFERED_SECONDS)

    def _reserved_concurrency(self, name: str) -> int | None:
        if name == AUTHORIZER:
            return self._settings.authorizer_concurrency
        return self._settings.driver_concurrency if name in STREAMING else self._settings.crud_concurrency

    def _grant(self) -> None:
        data = self._data
        for name, function in self.functions.items():
            if name not in NO_TENANT_DATA:
                function.allow(taking(data.data_role))
            if name in SYSTEM_ACCESS:
                function.allow(system_items(data.tables["system"].table_arn, SYSTEM_ACCESS[name]))
                function.allow(through(data.key, "dynamodb", *KEY_TO_READ))
            if name in PROVIDER_ACCESS:
                function.allow(reading(data.providers_secret.secret_arn))

    def _say_addresses(self) -> None:
        CfnOutput(self, "ApiUrl", value=self.api.url, description="The base URL for clients")
        command = (
            f"uv run agentkeep keys create --stage {self._settings.stage} --tenant TENANT --role admin --name NAME"
        )
        CfnOutput(self, "FirstKey", value=command, description="Makes an API key; its secret is shown once")
