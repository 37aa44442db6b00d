"""What a function gives back to API Gateway: a proxy response, whole or streamed."""

from collections.abc import Mapping
from typing import Any

from agentkeep.api.answers import MAX_BYTES, Answer, dumps, payload_bytes
from agentkeep.api.errors import error_answer
from agentkeep.api.stream import StreamedResponse
from agentkeep.errors import TooLargeError

Reply = dict[str, Any] | StreamedResponse


def reply(result: object, headers: Mapping[str, str], *, streaming: bool) -> Reply:
    """The reply for what a handler returned: JSON, an Answer or a StreamedResponse. `headers` are added to its own.

    A route that API Gateway invokes with response streaming must always be answered with a StreamedResponse.
    """
    if isinstance(result, StreamedResponse):
        return StreamedResponse(result.status_code, {**result.headers, **headers}, result.body)
    answer = result if isinstance(result, Answer) else Answer(200, result)
    body = "" if answer.status == 204 else dumps(answer.body)
    if not streaming and payload_bytes(body) > MAX_BYTES:
        answer = error_answer(_too_large(body))
        body = dumps(answer.body)
    every = {"Content-Type": "application/json", **answer.headers, **headers}
    if streaming:
        return StreamedResponse(answer.status, every, iter((body.encode(),)))
    return {"statusCode": answer.status, "headers": every, "body": body, "isBase64Encoded": False}


def _too_large(body: str) -> TooLargeError:
    size = len(body.encode()) // 1_000_000
    return TooLargeError(f"The answer has {size} MB and AWS Lambda sends 6 MB. Ask for fewer items with 'limit'.")
