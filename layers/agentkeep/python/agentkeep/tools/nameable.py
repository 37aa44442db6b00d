"""Builtin tools that agents may carry but that do not work in this version: clients and agent files name them."""

from typing import Final

from agentkeep.tools.definition import BuiltinTool, boolean, integer, objects, parameters, string, strings

_ARCHIVAL: Final = (
    BuiltinTool(
        name="archival_memory_insert",
        tool_type="letta_core",
        description=(
            "Store a text in archival memory, which is searched by meaning and has no size limit."
            " Write it so that it can be understood by itself, and tag it by topic."
        ),
        parameters=parameters(
            {"content": string("The text to store."), "tags": strings("Topics to find it by.")}, required=["content"]
        ),
        available=False,
    ),
    BuiltinTool(
        name="archival_memory_search",
        tool_type="letta_core",
        description="Search archival memory by meaning, and by tags and times if wanted.",
        parameters=parameters(
            {
                "query": string("What you are looking for, in your own words."),
                "tags": strings("Only texts with these tags."),
                "tag_match_mode": string(
                    "Whether a text needs any or all of the tags; any by default.", ["any", "all"]
                ),
                "top_k": integer("How many texts to return at most; 10 by default."),
                "start_datetime": string("Only texts stored since then, as YYYY-MM-DD or YYYY-MM-DDTHH:MM."),
                "end_datetime": string("Only texts stored until then, as YYYY-MM-DD or YYYY-MM-DDTHH:MM."),
            },
            required=["query"],
        ),
        available=False,
        parallel=True,
    ),
)
_MEMORY: Final = (
    BuiltinTool(
        name="memory_apply_patch",
        tool_type="letta_memory_core",
        description=(
            "Apply a patch to a memory block: lines that start with a space are context, with - removed, with + added."
            " Headers such as *** Add Block: or *** Update Block: address several blocks at once."
        ),
        parameters=parameters(
            {
                "label": string("The label of the block to patch; empty if the patch has headers."),
                "patch": string("The patch, without line numbers."),
            },
            required=["label", "patch"],
        ),
        available=False,
    ),
    BuiltinTool(
        name="rethink_user_memory",
        tool_type="letta_voice_sleeptime_core",
        description="Rewrite what is known about the user, new facts taken up and outdated ones dropped.",
        parameters=parameters({"new_memory": string("The complete new text.")}, required=["new_memory"]),
        available=False,
    ),
    BuiltinTool(
        name="finish_rethinking_memory",
        tool_type="letta_voice_sleeptime_core",
        description="Say that what is known about the user is up to date.",
        parameters=parameters({}),
        available=False,
    ),
    BuiltinTool(
        name="search_memory",
        tool_type="letta_voice_sleeptime_core",
        description="Look for earlier dialogue that is no longer in view, by keywords and by how long ago it was.",
        parameters=parameters(
            {
                "convo_keyword_queries": strings("Words that were used, such as names and numbers."),
                "start_minutes_ago": integer("The newer end of the time to search, in minutes ago."),
                "end_minutes_ago": integer("The older end of the time to search, in minutes ago."),
            }
        ),
        available=False,
    ),
    BuiltinTool(
        name="store_memories",
        tool_type="letta_voice_sleeptime_core",
        description="Keep dialogue that is about to leave the context window, in stretches with a short synopsis each.",
        parameters=parameters(
            {
                "chunks": objects(
                    "The stretches to keep.",
                    {
                        "start_index": integer("Number of the first line, counted from 0."),
                        "end_index": integer("Number of the last line, included."),
                        "context": string("One to three sentences to find this stretch by later."),
                    },
                    required=["start_index", "end_index", "context"],
                )
            },
            required=["chunks"],
        ),
        available=False,
    ),
)
_AGENTS: Final = (
    BuiltinTool(
        name="send_message_to_agent_and_wait_for_reply",
        tool_type="letta_multi_agent_core",
        description="Send a message to another agent and get its answer.",
        parameters=parameters(
            {"message": string("The text of the message."), "other_agent_id": string("The id of the other agent.")},
            required=["message", "other_agent_id"],
        ),
        available=False,
    ),
    BuiltinTool(
        name="send_message_to_agent_async",
        tool_type="letta_multi_agent_core",
        description="Send a message to another agent without waiting for an answer.",
        parameters=parameters(
            {"message": string("The text of the message."), "other_agent_id": string("The id of the other agent.")},
            required=["message", "other_agent_id"],
        ),
        available=False,
    ),
    BuiltinTool(
        name="send_message_to_agents_matching_tags",
        tool_type="letta_multi_agent_core",
        description="Send a message to every agent that carries all of some tags and at least one of others.",
        parameters=parameters(
            {
                "message": string("The text of the message."),
                "match_all": strings("Tags an agent must carry, all of them."),
                "match_some": strings("Tags of which an agent must carry at least one."),
            },
            required=["message", "match_all", "match_some"],
        ),
        available=False,
    ),
)
_FILES: Final = (
    BuiltinTool(
        name="open_files",
        tool_type="letta_files_core",
        description="Show files, or ranges of their lines, in your memory.",
        parameters=parameters(
            {
                "file_requests": objects(
                    "The files to show.",
                    {
                        "file_name": string("Name of the file, with its folder."),
                        "offset": integer("Line to start from, counted from 0; the beginning by default."),
                        "length": integer("How many lines to show; all by default."),
                    },
                    required=["file_name"],
                ),
                "close_all_others": boolean("Whether to close the files that are open now; false by default."),
            },
            required=["file_requests"],
        ),
        available=False,
    ),
    BuiltinTool(
        name="grep_files",
        tool_type="letta_files_core",
        description="Find the lines of files that match a word or regular expression.",
        parameters=parameters(
            {
                "pattern": string("The word or regular expression."),
                "include": string("Only files whose name matches this word or regular expression."),
                "context_lines": integer("How many lines to show around each match."),
                "offset": integer("How many matches to skip."),
            },
            required=["pattern"],
        ),
        available=False,
        parallel=True,
    ),
    BuiltinTool(
        name="semantic_search_files",
        tool_type="letta_files_core",
        description="Find passages of files by meaning.",
        parameters=parameters(
            {
                "query": string("What you are looking for, in your own words."),
                "limit": integer("How many passages to return at most; 5 by default."),
            },
            required=["query"],
        ),
        available=False,
        parallel=True,
    ),
)
_WORLD: Final = (
    BuiltinTool(
        name="web_search",
        tool_type="letta_builtin",
        description="Search the web.",
        parameters=parameters(
            {
                "query": string("What to search for."),
                "num_results": integer("How many results to return at most, 1 to 100; 10 by default."),
                "category": string(
                    "Only results of this kind.",
                    [
                        "company", "research paper", "news", "pdf", "github", "tweet", "personal site",
                        "linkedin profile", "financial report",
                    ],
                ),
                "include_text": boolean("Whether to return the text of the pages; false by default."),
                "include_domains": strings("Only results from these domains."),
                "exclude_domains": strings("No results from these domains."),
                "start_published_date": string("Only pages published since then, in ISO format."),
                "end_published_date": string("Only pages published until then, in ISO format."),
                "user_location": string("Two-letter code of the country to search from."),
            },
            required=["query"],
        ),
        available=False,
        parallel=True,
    ),
    BuiltinTool(
        name="fetch_webpage",
        tool_type="letta_builtin",
        description="Fetch a web page as readable text.",
        parameters=parameters({"url": string("The address of the page.")}, required=["url"]),
        available=False,
        parallel=True,
    ),
    BuiltinTool(
        name="run_code",
        tool_type="letta_builtin",
        description="Run a program in a sandbox and get its output.",
        parameters=parameters(
            {
                "code": string("The program."),
                "language": string("The language it is written in.", ["python", "js", "ts", "r", "java"]),
            },
            required=["code", "language"],
        ),
        available=False,
        parallel=True,
    ),
    BuiltinTool(
        name="run_code_with_tools",
        tool_type="letta_builtin",
        description="Run a Python program that can call your tools.",
        parameters=parameters({"code": string("The program.")}, required=["code"]),
        available=False,
    ),
)  # fmt: skip

NAMEABLE: Final = (*_ARCHIVAL, *_MEMORY, *_AGENTS, *_FILES, *_WORLD)
