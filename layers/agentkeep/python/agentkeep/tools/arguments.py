"""The arguments of a tool call: read from the model's JSON and checked against the tool's parameters.

Lenient where the meaning is clear (a number sent as text, one text where a list is due, null for an optional argument),
strict elsewhere, and then with a sentence that names the argument and what to send.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from agentkeep.errors import BadRequestError
from agentkeep.text import clean

TOLERATED: Final = frozenset({"request_heartbeat", "thinking", "inner_thoughts"})
"""Arguments that legacy agents add to any call; they are dropped."""

_FORMER_NAMES: Final = {"old_str": "old_string", "new_str": "new_string"}
_WHOLE_NUMBER: Final = re.compile(r"[+-]?\d{1,18}(\.0*)?")
_SHOWN_CHARACTERS: Final = 80
_WANTED: Final = {
    "string": "a string",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}

Schema = Mapping[str, Any]


class ToolArgumentsError(BadRequestError):
    """Arguments that the tool cannot be called with. The message is written for the model."""

    code = "TOOL_ARGUMENTS"


def parse(tool: str, text: str, parameters: Schema) -> dict[str, Any]:
    """The arguments in `text`, checked and converted; optional ones that are absent or null are left out.

    Strings are cleaned of NUL and lone surrogates. Raises ToolArgumentsError.
    """
    properties: Schema = parameters["properties"]
    given = _named(tool, _object(tool, text, parameters), properties)
    for name in parameters["required"]:
        if name not in given:
            raise ToolArgumentsError(
                f"{tool} needs the argument '{name}' ({_wanted(properties[name])}). {_reminder(parameters)}"
            )
    return {name: _value(tool, name, value, properties[name]) for name, value in given.items()}


def _object(tool: str, text: str, parameters: Schema) -> dict[str, Any]:
    try:
        given = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ToolArgumentsError(
            f"The arguments of {tool} are not valid JSON ({error}). Send one JSON object. {_reminder(parameters)}"
        ) from error
    if not isinstance(given, dict):
        raise ToolArgumentsError(f"The arguments of {tool} must be one JSON object. {_reminder(parameters)}")
    return given


def _named(tool: str, given: dict[str, Any], properties: Schema) -> dict[str, Any]:
    named = {_current_name(name, properties): value for name, value in given.items() if name not in TOLERATED}
    unknown = [name for name in named if name not in properties]
    if unknown:
        takes = f"It takes: {', '.join(properties)}." if properties else "It takes no arguments."
        raise ToolArgumentsError(f"{tool} has no argument '{clean(unknown[0])}'. {takes}")
    return {name: value for name, value in named.items() if value is not None}


def _current_name(name: str, properties: Schema) -> str:
    """The present name of an argument that older agent files know under another one."""
    renamed = _FORMER_NAMES.get(name, name)
    return renamed if renamed in properties else name


def _value(tool: str, name: str, value: Any, schema: Schema) -> Any:
    converted = _CONVERT[schema["type"]](value)
    if converted is None:
        raise ToolArgumentsError(f"The argument '{name}' of {tool} must be {_wanted(schema)}, not {_shown(value)}.")
    if schema["type"] == "array":
        return [_value(tool, name, item, schema["items"]) for item in converted]
    if (choices := schema.get("enum")) and converted not in choices:
        raise ToolArgumentsError(
            f"The argument '{name}' of {tool} must be one of {', '.join(choices)}, not {_shown(converted)}."
        )
    return converted


def _as_string(value: Any) -> str | None:
    if isinstance(value, str):
        return clean(value)
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _as_integer(value: Any) -> int | None:
    text = str(value).strip() if isinstance(value, int | float | str) else ""
    return int(text.partition(".")[0]) if _WHOLE_NUMBER.fullmatch(text) else None


def _as_boolean(value: Any) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return value if isinstance(value, bool) else None


def _as_array(value: Any) -> list[Any] | None:
    if isinstance(value, list):
        return value
    return [value] if isinstance(value, str) and value else None


def _as_object(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


_CONVERT: Final[Mapping[str, Callable[[Any], Any]]] = {
    "string": _as_string,
    "integer": _as_integer,
    "boolean": _as_boolean,
    "array": _as_array,
    "object": _as_object,
}


def _wanted(schema: Schema) -> str:
    choices = schema.get("enum") or schema.get("items", {}).get("enum")
    return _WANTED[schema["type"]] + (f": {', '.join(choices)}" if choices else "")


def _shown(value: Any) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = clean(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def _reminder(parameters: Schema) -> str:
    required, properties = parameters["required"], parameters["properties"]
    optional = [name for name in properties if name not in required]
    parts = [
        f"Required: {', '.join(required)}." if required else "",
        f"Optional: {', '.join(optional)}." if optional else "",
    ]
    return " ".join(part for part in parts if part)
