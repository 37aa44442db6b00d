"""THE route table: every operation of Letta's API and our own, read by the API stack and by the local gateway.

A line of a table is: method, path, permission (`-` for none), `streaming` where the answer is sent as it is made. The
line above a group names the function. What comes later is listed beside the code that answers it: `api/coming.py`.
"""

from dataclasses import dataclass
from typing import Literal

from agentkeep.api import coming

State = Literal["built", "coming", "elsewhere"]


@dataclass(frozen=True)
class Route:
    """One operation. `path` has no trailing slash and names its parameters as `{agent_id}`.

    `permission` is what the caller's role must include; None asks for no key. `state`: built; coming (501 with
    `x-should-retry: false`); elsewhere (404, by decision). `streaming`: the answer is streamed by the Lambda.
    """

    method: str
    path: str
    function: str
    permission: str | None
    state: State
    streaming: bool = False


_BUILT = """
agents
  GET    /v1/agents                                                    agent:read
  POST   /v1/agents                                                    agent:write
  GET    /v1/agents/count                                              agent:read
  GET    /v1/agents/{agent_id}                                         agent:read
  PATCH  /v1/agents/{agent_id}                                         agent:write
  DELETE /v1/agents/{agent_id}                                         agent:delete
  GET    /v1/agents/{agent_id}/context                                 agent:read
  POST   /v1/agents/{agent_id}/recompile                               agent:write
  POST   /v1/agents/{agent_id}/system-prompt/recompile                 agent:write
  PATCH  /v1/agents/{agent_id}/reset-messages                          agent:write
  GET    /v1/agents/{agent_id}/core-memory                             agent:read
  GET    /v1/agents/{agent_id}/core-memory/blocks                      agent:read
  GET    /v1/agents/{agent_id}/core-memory/blocks/{block_label}        agent:read
  PATCH  /v1/agents/{agent_id}/core-memory/blocks/{block_label}        agent:write
  PATCH  /v1/agents/{agent_id}/core-memory/blocks/attach/{block_id}    agent:write
  PATCH  /v1/agents/{agent_id}/core-memory/blocks/detach/{block_id}    agent:write
  GET    /v1/agents/{agent_id}/tools                                   agent:read
  PATCH  /v1/agents/{agent_id}/tools/attach/{tool_id}                  agent:write
  PATCH  /v1/agents/{agent_id}/tools/detach/{tool_id}                  agent:write
  GET    /v1/tags                                                      agent:read
blocks
  GET    /v1/blocks                                                    block:read
  POST   /v1/blocks                                                    block:write
  GET    /v1/blocks/count                                              block:read
  GET    /v1/blocks/{block_id}                                         block:read
  PATCH  /v1/blocks/{block_id}                                         block:write
  DELETE /v1/blocks/{block_id}                                         block:delete
  GET    /v1/blocks/{block_id}/agents                                  block:read
  GET    /v1/blocks/{block_id}/history                                 block:read
  POST   /v1/blocks/{block_id}/undo                                    block:write
tools
  GET    /v1/tools                                                     tool:read
  GET    /v1/tools/count                                               tool:read
  GET    /v1/tools/{tool_id}                                           tool:read
  POST   /v1/tools/add-base-tools                                      tool:write
conversations
  GET    /v1/conversations                                             conversation:read
  POST   /v1/conversations                                             conversation:write
  GET    /v1/conversations/{conversation_id}                           conversation:read
  PATCH  /v1/conversations/{conversation_id}                           conversation:write
  DELETE /v1/conversations/{conversation_id}                           conversation:delete
  POST   /v1/conversations/{conversation_id}/recompile                 conversation:write
messages
  GET    /v1/agents/{agent_id}/messages                                message:read
  POST   /v1/agents/{agent_id}/messages                                message:send        streaming
  GET    /v1/conversations/{conversation_id}/messages                  message:read
  POST   /v1/conversations/{conversation_id}/messages                  message:send        streaming
  POST   /v1/agents/{agent_id}/summarize                               message:send        streaming
  POST   /v1/conversations/{conversation_id}/compact                   message:send        streaming
  GET    /v1/messages                                                  message:read
  GET    /v1/messages/{message_id}                                     message:read
runs
  GET    /v1/runs                                                      run:read
  GET    /v1/runs/active                                               run:read
  GET    /v1/runs/{run_id}                                             run:read
  GET    /v1/runs/{run_id}/messages                                    run:read
  GET    /v1/runs/{run_id}/usage                                       run:read
  GET    /v1/runs/{run_id}/metrics                                     run:read
  GET    /v1/runs/{run_id}/steps                                       run:read
  GET    /v1/steps                                                     run:read
  GET    /v1/steps/{step_id}                                           run:read
  GET    /v1/steps/{step_id}/metrics                                   run:read
  GET    /v1/steps/{step_id}/messages                                  run:read
  PATCH  /v1/steps/{step_id}/feedback                                  run:write
models
  GET    /v1/models                                                    model:read
  GET    /v1/models/embedding                                          model:read
  GET    /v1/models/embeddings                                         model:read
providers
  GET    /v1/providers                                                 provider:read
  POST   /v1/providers                                                 provider:write
  POST   /v1/providers/check                                           provider:write
  GET    /v1/providers/{provider_id}                                   provider:read
  PATCH  /v1/providers/{provider_id}                                   provider:write
  DELETE /v1/providers/{provider_id}                                   provider:delete
  POST   /v1/providers/{provider_id}/check                             provider:write
  PATCH  /v1/providers/{provider_id}/refresh                           provider:write
dispatcher
  GET    /v1/health                                                    -
  GET    /v1/ready                                                     -
"""

# Only Letta's hosted service has these: it meters storage, rents machines and voices to agents, hands out browser
# tokens, and searches the agents deployed from templates of a project. Nothing of it exists in one's own deployment.
_ELSEWHERE = """
agents
  POST   /v1/agents/search                                             agent:read
  GET    /v1/agents/search/count                                       agent:read
dispatcher
  GET    /v1/client-side-access-tokens                                 agent:read
  POST   /v1/client-side-access-tokens                                 agent:write
  DELETE /v1/client-side-access-tokens/{token}                         agent:write
  GET    /v1/embeddings/total_storage_size                             agent:read
  GET    /v1/environments                                              agent:read
  POST   /v1/environments/register                                     agent:write
  GET    /v1/environments/{deviceId}                                   agent:read
  DELETE /v1/environments/{id}                                         agent:write
  POST   /v1/environments/{connectionId}/messages                      message:send
  POST   /v1/legacy-templates/{templateId}/migrates                    agent:write
  POST   /v1/voice-beta/{agent_id}/chat/completions                    message:send
"""


def _parse(table: str, state: State) -> tuple[Route, ...]:
    return tuple(_route(function, method, columns, state) for function, method, columns in coming.rows(table))


def _route(function: str, method: str, columns: list[str], state: State) -> Route:
    path, permission, *flags = columns
    if flags not in ([], ["streaming"]):
        raise ValueError(
            f"{method} {path}: unknown columns {flags}; a line ends with the permission or with 'streaming'."
        )
    return Route(method, path, function, None if permission == "-" else permission, state, bool(flags))


ROUTES: tuple[Route, ...] = (
    *_parse(_BUILT, "built"),
    *_parse(coming.COMING, "coming"),
    *_parse(_ELSEWHERE, "elsewhere"),
)
