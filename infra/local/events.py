"""The events that handlers receive: REST v1 proxy events and REQUEST authorizer events, as API Gateway makes them.

Shapes: API Gateway developer guide, "Input format of a Lambda function for proxy integration" and "Input to a Lambda
authorizer".
"""

import time
from collections.abc import Mapping
from typing import Any, Final

from infra.local.request import Request, last_values
from infra.local.resources import Match

ACCOUNT: Final = "000000000000"
API_ID: Final = "local"
REGION: Final = "us-east-1"


def proxy_event(request: Request, match: Match, stage: str, authorizer: Mapping[str, Any] | None) -> dict[str, Any]:
    """The event of a Lambda proxy integration."""
    body, is_base64 = request.text
    return {
        **_request_fields(request, match),
        "requestContext": _request_context(request, match, stage)
        | ({"authorizer": dict(authorizer)} if authorizer else {}),
        "body": body,
        "isBase64Encoded": is_base64,
    }


def authorizer_event(request: Request, match: Match, stage: str) -> dict[str, Any]:
    """The event of a REQUEST authorizer."""
    return {
        "type": "REQUEST",
        "methodArn": f"{_arn(stage)}/{request.method}{request.path}",
        **_request_fields(request, match),
        "requestContext": _request_context(request, match, stage),
    }


def _request_fields(request: Request, match: Match) -> dict[str, Any]:
    headers = _headers(request)
    return {
        "resource": match.resource,
        "path": request.path,
        "httpMethod": request.method,
        "headers": last_values(headers),
        "multiValueHeaders": headers,
        "queryStringParameters": last_values(request.query),
        "multiValueQueryStringParameters": request.query or None,
        "pathParameters": dict(match.parameters) or None,
        "stageVariables": None,
    }


def _headers(request: Request) -> dict[str, list[str]]:
    """The client's headers, with the addresses that the request came through."""
    headers = {name: values for name, values in request.headers.items() if not name.startswith("x-forwarded-")}
    way = [*request.headers.get("x-forwarded-for", []), request.source_ip]
    return headers | {"X-Forwarded-For": [", ".join(way)], "X-Forwarded-Proto": ["http"]}


def _request_context(request: Request, match: Match, stage: str) -> dict[str, Any]:
    return {
        "accountId": ACCOUNT,
        "apiId": API_ID,
        "stage": stage,
        "protocol": "HTTP/1.1",
        "resourceId": match.resource,
        "resourcePath": match.resource,
        "httpMethod": request.method,
        "path": f"{request.prefix}{request.path}",
        "domainName": request.header("host"),
        "requestId": request.id,
        "extendedRequestId": request.id,
        "requestTimeEpoch": request.received_at,
        "requestTime": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(request.received_at / 1000)),
        "identity": {
            "sourceIp": request.source_ip,
            "userAgent": request.header("user-agent"),
            "apiKey": None,
            "accountId": None,
            "caller": None,
            "user": None,
            "userArn": None,
        },
    }


def _arn(stage: str) -> str:
    return f"arn:aws:execute-api:{REGION}:{ACCOUNT}:{API_ID}/{stage}"
