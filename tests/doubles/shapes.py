"""Values made from JSON schemas, most of them fitting, some of them not."""

from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=40),
    st.sampled_from(["", "\0", "\ud800", "🙂" * 300, "agent-123e4567-e89b-42d3-8456-426614174000", "x" * 1_100, "NaN"]),
    st.lists(st.none() | st.text(max_size=5), max_size=3),
    st.dictionaries(
        st.sampled_from(["type", "text", "role", "\ud800", "", "a"]), st.none() | st.integers(), max_size=3
    ),
)
TEXT = st.text(max_size=30) | st.sampled_from(
    ["openai/gpt-4.1", "demo/memory", "human", "UTC", "a\nb", "/", "{CORE_MEMORY}"]
)


def values(schema: Json, definitions: Json | None = None, *, odd: bool = True) -> st.SearchStrategy[Any]:
    """Values of a JSON schema; with `odd` about one in twenty of them, at every level, is something else."""
    known = definitions if definitions is not None else schema.get("$defs", {})
    fitting = st.deferred(lambda: _fitting(schema, known, odd))
    return st.integers(0, 19).flatmap(lambda dice: ODD if odd and dice == 0 else fitting)


def _fitting(schema: Json, known: Json, odd: bool) -> st.SearchStrategy[Any]:
    if "$ref" in schema:
        return values(known[schema["$ref"].rpartition("/")[2]], known, odd=odd)
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return st.one_of([values(option, known, odd=odd) for option in options])
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    return _of_type(schema, known, odd)


def _of_type(schema: Json, known: Json, odd: bool) -> st.SearchStrategy[Any]:
    kind = schema.get("type")
    if kind == "object":
        return _objects(schema, known, odd)
    if kind == "array":
        return st.lists(values(schema.get("items", {}), known, odd=odd), max_size=3)
    simple: dict[Any, st.SearchStrategy[Any]] = {
        "string": TEXT,
        "integer": st.integers(schema.get("minimum", -5), schema.get("maximum", 10**9)),
        "number": st.floats(-1, 3),
        "boolean": st.booleans(),
        "null": st.none(),
    }
    return simple.get(kind, ODD)


def _objects(schema: Json, known: Json, odd: bool) -> st.SearchStrategy[Any]:
    fields = {name: values(each, known, odd=odd) for name, each in schema.get("properties", {}).items()}
    if not fields:
        return st.dictionaries(TEXT, ODD, max_size=3)
    required = {name: fields[name] for name in schema.get("required", ())}
    return st.fixed_dictionaries(
        required, optional={name: each for name, each in fields.items() if name not in required}
    )
