"""From route rows to API Gateway resources, on rows made for the purpose."""

from infra.constructs.resource_tree import ANY, UNKNOWN, Resource, Target, resource_tree, with_method
from infra.routes import Route


def route(
    method: str, path: str, function: str, permission: str | None = "x:read", *, streaming: bool = False
) -> Route:
    return Route(method, path, function, permission, "built", streaming)


HEALTH = route("GET", "/v1/health", "dispatcher", None)


def child(resource: Resource, *parts: str) -> Resource:
    for part in parts:
        resource = next(found for found in resource.children if found.part == part)
    return resource


def parts(resource: Resource) -> list[str]:
    return [found.part for found in resource.children]


AGENTS = Target("agents", authorized=True)
MESSAGES = Target("messages", authorized=True)


def test_resource_whose_paths_all_arrive_in_one_function_is_one_greedy_part() -> None:
    tree = resource_tree(
        [
            HEALTH,
            route("GET", "/v1/agents", "agents"),
            route("PATCH", "/v1/agents/{agent_id}", "agents"),
            route("GET", "/v1/agents/{agent_id}/tools", "agents"),
        ]
    )

    agents = child(tree, "v1", "agents")

    assert agents == Resource("agents", {ANY: AGENTS}, (Resource("{proxy+}", {ANY: AGENTS}),))


def test_path_of_another_function_below_a_variable_keeps_the_variable() -> None:
    tree = resource_tree(
        [
            route("GET", "/v1/agents", "agents"),
            route("GET", "/v1/agents/{agent_id}", "agents"),
            route("GET", "/v1/agents/{agent_id}/messages", "messages"),
        ]
    )

    agents = child(tree, "v1", "agents")

    assert parts(agents) == ["{agent_id}"], "one level takes a variable or a greedy part, not both"
    assert parts(child(agents, "{agent_id}")) == ["messages", "{proxy+}"]
    assert child(agents, "{agent_id}", "messages").methods == {ANY: MESSAGES}
    assert child(agents, "{agent_id}", "{proxy+}").methods == {ANY: AGENTS}


def test_exact_neighbour_of_a_kept_variable_stays_so_that_its_paths_do_not_fall_into_the_variable() -> None:
    tree = resource_tree(
        [
            route("GET", "/v1/agents", "agents"),
            route("POST", "/v1/agents/import/messages", "agents"),
            route("GET", "/v1/agents/{agent_id}/messages", "messages"),
        ]
    )

    assert child(tree, "v1", "agents", "import", "{proxy+}").methods == {ANY: AGENTS}


def test_streamed_method_stands_beside_any() -> None:
    tree = resource_tree(
        [
            route("GET", "/v1/c/{id}/messages", "messages"),
            route("POST", "/v1/c/{id}/messages", "messages", streaming=True),
        ]
    )

    streamed = Target("messages", authorized=True, streaming=True)
    assert child(tree, "v1", "c", "{id}", "messages").methods == {ANY: MESSAGES, "POST": streamed}


def test_path_without_a_key_opens_no_other() -> None:
    tree = resource_tree([HEALTH, route("GET", "/v1/jobs", "dispatcher")])

    v1 = child(tree, "v1")
    assert parts(v1) == ["health", "{proxy+}"]
    assert child(v1, "health").methods == {ANY: Target("dispatcher", authorized=False)}
    assert child(v1, "{proxy+}").methods == {ANY: UNKNOWN}
    assert UNKNOWN.authorized


def test_names_of_one_variable_may_differ_between_routes() -> None:
    tree = resource_tree(
        [
            route("GET", "/v1/t/{first}/a", "agents"),
            route("GET", "/v1/t/{second}/b", "messages"),
        ]
    )

    assert parts(child(tree, "v1", "t")) == ["{first}"]
    assert parts(child(tree, "v1", "t", "{first}")) == ["a", "b", "{proxy+}"]


def test_method_is_added_to_every_resource() -> None:
    preflight = Target("dispatcher", authorized=False)

    tree = with_method(resource_tree([HEALTH, route("GET", "/v1/agents", "agents")]), "OPTIONS", preflight)

    def all_of(resource: Resource) -> list[Resource]:
        return [resource, *(found for below in resource.children for found in all_of(below))]

    assert [resource.methods["OPTIONS"] for resource in all_of(tree)] == [preflight] * 8
    assert child(tree, "v1", "agents").methods[ANY] == AGENTS
