"""What API Gateway answers by itself, before or after our functions, in the shape of our own errors and with CORS."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from aws_cdk import aws_apigateway as apigateway

from infra.api_gateway import (
    ACCESS_DENIED,
    AUTHORIZER_FAILURE,
    INTEGRATION_TIMEOUT,
    REQUEST_TOO_LARGE,
    UNAUTHORIZED,
    OwnAnswer,
)

_ANSWERS: Final = (
    UNAUTHORIZED,
    ACCESS_DENIED,
    REQUEST_TOO_LARGE,
    AUTHORIZER_FAILURE,
    INTEGRATION_TIMEOUT,
    OwnAnswer("AUTHORIZER_CONFIGURATION_ERROR", 500, AUTHORIZER_FAILURE.sentence),
    OwnAnswer("INTEGRATION_FAILURE", 504, "The function behind this path did not answer. Try again shortly."),
    OwnAnswer("THROTTLED", 429, "The deployment receives more requests than it is set to take. Try again shortly."),
    OwnAnswer("QUOTA_EXCEEDED", 429, "The quota of this API key is used up."),
    OwnAnswer("MISSING_AUTHENTICATION_TOKEN", 404, "There is nothing at this path."),
    OwnAnswer("RESOURCE_NOT_FOUND", 404, "There is nothing at this path."),
    OwnAnswer("UNSUPPORTED_MEDIA_TYPE", 415, "Send the body as 'Content-Type: application/json'."),
    OwnAnswer("WAF_FILTERED", 403, "The request was refused by the web application firewall of this deployment."),
)
_OTHERS: Final = ("DEFAULT_4XX", "DEFAULT_5XX")


def add_gateway_responses(api: apigateway.RestApi, cors_origins: Sequence[str]) -> None:
    """Gives every answer of API Gateway itself the body `{"detail": "..."}` and the headers that let a page read it."""
    headers = _cors_headers(cors_origins)
    for answer in _ANSWERS:
        api.add_gateway_response(
            answer.type,
            type=apigateway.ResponseType.of(answer.type),
            status_code=str(answer.status),
            templates={"application/json": json.dumps({"detail": answer.sentence})},
            response_headers=headers,
        )
    for kind in _OTHERS:
        api.add_gateway_response(
            kind,
            type=apigateway.ResponseType.of(kind),
            templates={"application/json": '{"detail": $context.error.messageString}'},
            response_headers=headers,
        )


def _cors_headers(origins: Sequence[str]) -> Mapping[str, str]:
    """One origin is named; among several the asking one is repeated, since these answers hold nothing to protect."""
    if not origins:
        return {}
    if len(origins) == 1:
        return {"Access-Control-Allow-Origin": f"'{origins[0]}'"}
    return {"Access-Control-Allow-Origin": "method.request.header.Origin", "Vary": "'Origin'"}
