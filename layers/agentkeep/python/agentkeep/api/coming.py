"""The routes of Letta's API that a later version serves. Until then they answer 501, in whichever function they arrive.

One line each: method, path, permission. The line above a group names the function that it arrives in, which is the one
that serves its built neighbours. `infra/routes.py` adds these rows to the ones that are built.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

COMING: Final = """
agents
  POST   /v1/agents/import                                                  agent:write
  GET    /v1/agents/{agent_id}/export                                       agent:read
  POST   /v1/agents/{agent_id}/export                                       agent:read
  POST   /v1/agents/{agent_id}/generate                                     message:send
  GET    /v1/agents/{agent_id}/groups                                       agent:read
  GET    /v1/agents/{agent_id}/core-memory/variables                        agent:read
  PATCH  /v1/agents/{agent_id}/tools/approval/{tool_name}                   agent:write
  POST   /v1/agents/{agent_id}/tools/{tool_name}/run                        message:send
  GET    /v1/agents/{agent_id}/sources                                      agent:read
  PATCH  /v1/agents/{agent_id}/sources/attach/{source_id}                   agent:write
  PATCH  /v1/agents/{agent_id}/sources/detach/{source_id}                   agent:write
  GET    /v1/agents/{agent_id}/folders                                      agent:read
  PATCH  /v1/agents/{agent_id}/folders/attach/{folder_id}                   agent:write
  PATCH  /v1/agents/{agent_id}/folders/detach/{folder_id}                   agent:write
  GET    /v1/agents/{agent_id}/files                                        agent:read
  PATCH  /v1/agents/{agent_id}/files/close-all                              agent:write
  PATCH  /v1/agents/{agent_id}/files/{file_id}/open                         agent:write
  PATCH  /v1/agents/{agent_id}/files/{file_id}/close                        agent:write
  PATCH  /v1/agents/{agent_id}/archives/attach/{archive_id}                 agent:write
  PATCH  /v1/agents/{agent_id}/archives/detach/{archive_id}                 agent:write
  PATCH  /v1/agents/{agent_id}/identities/attach/{identity_id}              agent:write
  PATCH  /v1/agents/{agent_id}/identities/detach/{identity_id}              agent:write
  GET    /v1/agents/{agent_id}/archival-memory                              archive:read
  POST   /v1/agents/{agent_id}/archival-memory                              archive:write
  GET    /v1/agents/{agent_id}/archival-memory/search                       archive:read
  DELETE /v1/agents/{agent_id}/archival-memory/{memory_id}                  archive:write
  GET    /v1/agents/{agent_id}/schedule                                     schedule:read
  POST   /v1/agents/{agent_id}/schedule                                     schedule:write
  GET    /v1/agents/{agent_id}/schedule/{scheduled_message_id}              schedule:read
  DELETE /v1/agents/{agent_id}/schedule/{scheduled_message_id}              schedule:write
blocks
  PATCH  /v1/blocks/{block_id}/identities/attach/{identity_id}              block:write
  PATCH  /v1/blocks/{block_id}/identities/detach/{identity_id}              block:write
tools
  POST   /v1/tools                                                          tool:write
  PUT    /v1/tools                                                          tool:write
  POST   /v1/tools/search                                                   tool:read
  POST   /v1/tools/run                                                      tool:write
  PATCH  /v1/tools/{tool_id}                                                tool:write
  DELETE /v1/tools/{tool_id}                                                tool:write
  GET    /v1/tools/mcp/servers                                              mcp:read
  PUT    /v1/tools/mcp/servers                                              mcp:write
  POST   /v1/tools/mcp/servers/test                                         mcp:write
  POST   /v1/tools/mcp/servers/connect                                      mcp:write
  PATCH  /v1/tools/mcp/servers/{mcp_server_name}                            mcp:write
  DELETE /v1/tools/mcp/servers/{mcp_server_name}                            mcp:write
  GET    /v1/tools/mcp/servers/{mcp_server_name}/tools                      mcp:read
  POST   /v1/tools/mcp/servers/{mcp_server_name}/resync                     mcp:write
  POST   /v1/tools/mcp/servers/{mcp_server_name}/{mcp_tool_name}            mcp:write
  POST   /v1/tools/mcp/servers/{mcp_server_name}/tools/{tool_name}/execute  mcp:write
  GET    /v1/tools/mcp/oauth/callback                                       mcp:write
conversations
  POST   /v1/conversations/{conversation_id}/fork                           conversation:write
  POST   /v1/conversations/{conversation_id}/stream                         message:read
  POST   /v1/conversations/{conversation_id}/cancel                         run:write
messages
  POST   /v1/agents/messages/search                                         message:read
  PATCH  /v1/agents/{agent_id}/messages/{message_id}                        message:send
  POST   /v1/agents/{agent_id}/messages/stream                              message:send
  POST   /v1/agents/{agent_id}/messages/async                               message:send
  POST   /v1/agents/{agent_id}/messages/cancel                              run:write
  POST   /v1/agents/{agent_id}/messages/preview-raw-payload                 message:read
  POST   /v1/conversations/{conversation_id}/messages/preview-raw-payload   message:read
  POST   /v1/messages/search                                                message:read
  GET    /v1/messages/batches                                               message:read
  POST   /v1/messages/batches                                               message:send
  GET    /v1/messages/batches/{batch_id}                                    message:read
  GET    /v1/messages/batches/{batch_id}/messages                           message:read
  PATCH  /v1/messages/batches/{batch_id}/cancel                             run:write
runs
  DELETE /v1/runs/{run_id}                                                  run:write
  GET    /v1/runs/{run_id}/trace                                            run:read
  POST   /v1/runs/{run_id}/stream                                           run:read
  GET    /v1/steps/{step_id}/trace                                          run:read
dispatcher
  GET    /v1/telemetry/{step_id}                                            run:read
  POST   /v1/chat/completions                                               message:send
  GET    /v1/archives                                                       archive:read
  POST   /v1/archives                                                       archive:write
  GET    /v1/archives/{archive_id}                                          archive:read
  PATCH  /v1/archives/{archive_id}                                          archive:write
  DELETE /v1/archives/{archive_id}                                          archive:write
  GET    /v1/archives/{archive_id}/agents                                   archive:read
  POST   /v1/archives/{archive_id}/passages                                 archive:write
  POST   /v1/archives/{archive_id}/passages/batch                           archive:write
  DELETE /v1/archives/{archive_id}/passages/{passage_id}                    archive:write
  POST   /v1/passages/search                                                archive:read
  GET    /v1/sources                                                        folder:read
  POST   /v1/sources                                                        folder:write
  GET    /v1/sources/count                                                  folder:read
  GET    /v1/sources/metadata                                               folder:read
  GET    /v1/sources/name/{source_name}                                     folder:read
  GET    /v1/sources/{source_id}                                            folder:read
  PATCH  /v1/sources/{source_id}                                            folder:write
  DELETE /v1/sources/{source_id}                                            folder:write
  POST   /v1/sources/{source_id}/upload                                     folder:write
  GET    /v1/sources/{source_id}/agents                                     folder:read
  GET    /v1/sources/{source_id}/passages                                   folder:read
  GET    /v1/sources/{source_id}/files                                      folder:read
  GET    /v1/sources/{source_id}/files/{file_id}                            folder:read
  DELETE /v1/sources/{source_id}/{file_id}                                  folder:write
  GET    /v1/folders                                                        folder:read
  POST   /v1/folders                                                        folder:write
  GET    /v1/folders/count                                                  folder:read
  GET    /v1/folders/metadata                                               folder:read
  GET    /v1/folders/name/{folder_name}                                     folder:read
  GET    /v1/folders/{folder_id}                                            folder:read
  PATCH  /v1/folders/{folder_id}                                            folder:write
  DELETE /v1/folders/{folder_id}                                            folder:write
  POST   /v1/folders/{folder_id}/upload                                     folder:write
  GET    /v1/folders/{folder_id}/agents                                     folder:read
  GET    /v1/folders/{folder_id}/passages                                   folder:read
  GET    /v1/folders/{folder_id}/files                                      folder:read
  GET    /v1/folders/{folder_id}/files/{file_id}                            folder:read
  DELETE /v1/folders/{folder_id}/{file_id}                                  folder:write
  GET    /v1/jobs                                                           run:read
  GET    /v1/jobs/active                                                    run:read
  GET    /v1/jobs/{job_id}                                                  run:read
  DELETE /v1/jobs/{job_id}                                                  run:write
  PATCH  /v1/jobs/{job_id}/cancel                                           run:write
  GET    /v1/groups                                                         group:read
  POST   /v1/groups                                                         group:write
  GET    /v1/groups/count                                                   group:read
  GET    /v1/groups/{group_id}                                              group:read
  PATCH  /v1/groups/{group_id}                                              group:write
  DELETE /v1/groups/{group_id}                                              group:write
  GET    /v1/groups/{group_id}/messages                                     group:read
  PATCH  /v1/groups/{group_id}/messages/{message_id}                        group:write
  PATCH  /v1/groups/{group_id}/reset-messages                               group:write
  PATCH  /v1/groups/{group_id}/blocks/attach/{block_id}                     group:write
  PATCH  /v1/groups/{group_id}/blocks/detach/{block_id}                     group:write
  GET    /v1/identities                                                     identity:read
  POST   /v1/identities                                                     identity:write
  PUT    /v1/identities                                                     identity:write
  GET    /v1/identities/count                                               identity:read
  GET    /v1/identities/{identity_id}                                       identity:read
  PATCH  /v1/identities/{identity_id}                                       identity:write
  DELETE /v1/identities/{identity_id}                                       identity:write
  PUT    /v1/identities/{identity_id}/properties                            identity:write
  GET    /v1/identities/{identity_id}/agents                                identity:read
  GET    /v1/identities/{identity_id}/blocks                                identity:read
  GET    /v1/mcp-servers                                                    mcp:read
  POST   /v1/mcp-servers                                                    mcp:write
  GET    /v1/mcp-servers/connect/{mcp_server_id}                            mcp:read
  GET    /v1/mcp-servers/{mcp_server_id}                                    mcp:read
  PATCH  /v1/mcp-servers/{mcp_server_id}                                    mcp:write
  DELETE /v1/mcp-servers/{mcp_server_id}                                    mcp:write
  PATCH  /v1/mcp-servers/{mcp_server_id}/refresh                            mcp:write
  GET    /v1/mcp-servers/{mcp_server_id}/tools                              mcp:read
  GET    /v1/mcp-servers/{mcp_server_id}/tools/{tool_id}                    mcp:read
  POST   /v1/mcp-servers/{mcp_server_id}/tools/{tool_id}/run                mcp:write
  GET    /v1/templates                                                      template:read
  POST   /v1/templates                                                      template:write
  POST   /v1/templates/{project_id}                                         template:write
  PATCH  /v1/templates/{template_name}                                      template:write
  DELETE /v1/templates/{template_name}                                      template:write
  POST   /v1/templates/{template_name}/save                                 template:write
  POST   /v1/templates/{template_name}/rollback                             template:write
  POST   /v1/templates/{template_version}/agents                            agent:write
  POST   /v1/templates/{project_id}/{template_name}                         template:write
  DELETE /v1/templates/{project_id}/{template_name}                         template:write
  PATCH  /v1/templates/{project_id}/{template_name}/name                    template:write
  PATCH  /v1/templates/{project_id}/{template_name}/description             template:write
  POST   /v1/templates/{project_id}/{template_name}/rollback                template:write
  PUT    /v1/templates/{project_id}/{template_name}/agent-file              template:write
  POST   /v1/templates/{project_id}/{template_version}/agents               agent:write
  GET    /v1/templates/{project_id}/{template_version}/snapshot             template:read
  PUT    /v1/templates/{project_id}/{template_version}/snapshot             template:write
  POST   /v1/templates/{project_id}/{template_version}/fork                 template:write
  GET    /v1/templates/{project_id}/{name}/versions                         template:read
  POST   /v1/templates/{project_id}/{template_name}/deployments/{deployment_id}/migrate  template:write
"""


def rows(table: str) -> Iterator[tuple[str, str, list[str]]]:
    """(function, method, remaining columns) of each line of a route table written as above."""
    function = ""
    for line in table.strip().splitlines():
        if not line.startswith(" "):
            function = line.strip()
            continue
        method, *columns = line.split()
        yield function, method, columns


def is_coming(method: str, path: str) -> bool:
    """Whether a later version serves this request. `path` starts with `/v1` and has no trailing slash."""
    return any(method == known and pattern.fullmatch(path) for known, pattern in _patterns())


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((method, _pattern(columns[0])) for _, method, columns in rows(COMING))


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{\w+\}", "[^/]+", path))
