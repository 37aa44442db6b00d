"""The REST API: a tree of resources on functions, one authorizer, its stage with limits and logs."""

import json
from collections.abc import Mapping
from typing import Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_apigateway as apigateway
from constructs import Construct

from infra.api_gateway import BINARY_MEDIA_TYPES, BUFFERED_SECONDS, STREAMED_SECONDS
from infra.constructs.function import Function
from infra.constructs.gateway_responses import add_gateway_responses
from infra.constructs.log_group import LogGroup
from infra.constructs.resource_tree import Resource, Target
from infra.settings import Settings

_ACCESS_LINE: Final = {
    "request_id": "$context.requestId",
    "time": "$context.requestTime",
    "ip": "$context.identity.sourceIp",
    "user_agent": "$context.identity.userAgent",
    "method": "$context.httpMethod",
    "path": "$context.path",
    "status": "$context.status",
    "gateway_error": "$context.error.responseType",
    "tenant": "$context.authorizer.tenant",
    "key_id": "$context.authorizer.key_id",
    "milliseconds": "$context.responseLatency",
    "function_milliseconds": "$context.integration.latency",
    "function_status": "$context.integration.status",
    "bytes": "$context.responseLength",
    "trace": "$context.xrayTraceId",
}
"""One line per request. Neither bodies, nor query strings, nor headers with keys: those belong to the tenant."""


class RestApi(Construct):
    """Regional, because an edge-optimised endpoint cuts a silent stream after 30 seconds. `url` ends with the stage."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        tree: Resource,
        functions: Mapping[str, Function],
        authorizer: Function,
        settings: Settings,
    ) -> None:
        super().__init__(scope, construct_id)
        self._functions = functions
        self._api = self._new_api(settings)
        self._log_what_the_gateway_says(settings)
        add_gateway_responses(self._api, settings.cors_origins)
        self._authorizer = apigateway.RequestAuthorizer(
            self,
            "Authorizer",
            handler=authorizer.alias,
            identity_sources=[apigateway.IdentitySource.header("Authorization")],
            results_cache_ttl=Duration.seconds(settings.authorizer_cache_seconds),
        )
        self._add(self._api.root, tree)
        self.url = self._api.url

    def _new_api(self, settings: Settings) -> apigateway.RestApi:
        access = LogGroup(
            self, "Access", name=f"/agentkeep/{settings.stage}/access", retention_days=settings.log_retention_days
        )
        api = apigateway.RestApi(
            self,
            "Api",
            rest_api_name=settings.prefix,
            description=f"AgentKeep, stage {settings.stage}",
            endpoint_configuration=apigateway.EndpointConfiguration(types=[apigateway.EndpointType.REGIONAL]),
            binary_media_types=list(BINARY_MEDIA_TYPES),
            cloud_watch_role=True,
            cloud_watch_role_removal_policy=RemovalPolicy.RETAIN,
            deploy_options=apigateway.StageOptions(
                stage_name=settings.stage,
                throttling_rate_limit=settings.requests_per_second,
                throttling_burst_limit=settings.request_burst,
                logging_level=apigateway.MethodLoggingLevel.ERROR,
                data_trace_enabled=False,
                metrics_enabled=True,
                tracing_enabled=True,
                access_log_destination=apigateway.LogGroupLogDestination(access),
                access_log_format=apigateway.AccessLogFormat.custom(json.dumps(_ACCESS_LINE)),
            ),
        )
        api.node.try_remove_child("Endpoint")  # the CDK's own output; the stack has one with a name people can use
        return api

    def _log_what_the_gateway_says(self, settings: Settings) -> None:
        """API Gateway names this group and would make it without an end, so it has to be there before the stage."""
        group = LogGroup(
            self,
            "Execution",
            name=f"API-Gateway-Execution-Logs_{self._api.rest_api_id}/{settings.stage}",
            retention_days=settings.log_retention_days,
        )
        self._api.deployment_stage.node.add_dependency(group)

    def _add(self, at: apigateway.IResource, resource: Resource) -> None:
        for method, target in resource.methods.items():
            at.add_method(
                method,
                self._integration(target),
                authorizer=self._authorizer if target.authorized else None,
                authorization_type=None if target.authorized else apigateway.AuthorizationType.NONE,
            )
        for child in resource.children:
            self._add(at.add_resource(child.part), child)

    def _integration(self, target: Target) -> apigateway.LambdaIntegration:
        return apigateway.LambdaIntegration(
            self._functions[target.function].alias,
            scope_permission_to_method=False,
            timeout=Duration.seconds(STREAMED_SECONDS if target.streaming else BUFFERED_SECONDS),
            response_transfer_mode=(
                apigateway.ResponseTransferMode.STREAM if target.streaming else apigateway.ResponseTransferMode.BUFFERED
            ),
        )
