"""A Lambda function: one folder of `functions/`, under a role that may only log and be traced until more is allowed."""

from collections.abc import Mapping, Sequence
from typing import Final

from aws_cdk import Annotations, Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.constructs.log_group import LogGroup
from infra.constructs.runtime import ARCHITECTURE, RUNTIME

ALIAS: Final = "live"
HANDLER: Final = "handler.lambda_handler"
STREAMING_RUNTIME: Final = "/opt/bootstrap"
"""The exec wrapper in the agentkeep layer: starts our Runtime API loop instead of the managed one."""


class Function(Construct):
    """One function, its role and log group, and the alias `live` that callers are given.

    A function that answers at once is restored from a snapshot (SnapStart). A streaming one runs our own Runtime API
    loop behind an exec wrapper, which does without.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        code: lambda_.Code,
        layers: Sequence[lambda_.ILayerVersion],
        environment: Mapping[str, str],
        role_path: str,
        log_group_name: str,
        log_retention_days: int,
        memory_mb: int,
        timeout: Duration,
        streaming: bool,
        reserved_concurrency: int | None,
    ) -> None:
        super().__init__(scope, construct_id)
        log_group = LogGroup(self, "Logs", name=log_group_name, retention_days=log_retention_days)
        self.role = iam.Role(self, "Role", path=role_path, assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        log_group.grant_write(self.role)
        wrapper = {"AWS_LAMBDA_EXEC_WRAPPER": STREAMING_RUNTIME} if streaming else {}
        self.function = lambda_.Function(
            self,
            "Function",
            code=code,
            handler=HANDLER,
            runtime=RUNTIME,
            architecture=ARCHITECTURE,
            layers=layers,
            environment={**environment, **wrapper},
            role=self.role,
            log_group=log_group,
            logging_format=lambda_.LoggingFormat.JSON,
            memory_size=memory_mb,
            timeout=timeout,
            tracing=lambda_.Tracing.ACTIVE,
            snap_start=None if streaming else lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS,
            reserved_concurrent_executions=reserved_concurrency,
        )
        Annotations.of(self.function).acknowledge_warning(
            "@aws-cdk/aws-lambda:snapStartRequirePublish", "The alias publishes a version with each change."
        )
        self.alias = lambda_.Alias(self, "Live", alias_name=ALIAS, version=self.function.current_version)

    def allow(self, *statements: iam.PolicyStatement) -> None:
        """Adds to what the function may do."""
        for statement in statements:
            self.role.add_to_principal_policy(statement)
