"""The builtin tools that work in this version, with Letta's names and parameters, so that agents can move over."""

from typing import Final

from agentkeep.tools.definition import BuiltinTool, integer, parameters, string, strings

_LABEL: Final = string("The label of the memory block to edit.")
_INSERT_LINE: Final = integer("Line number to insert after: 0 is the beginning, -1 (the default) the end of the block.")

MEMORY_INSERT: Final = BuiltinTool(
    name="memory_insert",
    tool_type="letta_sleeptime_core",
    description=(
        "Add text to a memory block, as new lines at its end or after a given line; nothing else in the block changes."
        " Returns the block's new value.\n\n"
        "Examples:\n"
        '    memory_insert(label="human", new_string="Prefers trains to planes.")\n'
        '    memory_insert(label="tasks", new_string="# Open tasks", insert_line=0)'
    ),
    parameters=parameters(
        {
            "label": _LABEL,
            "new_string": string("The text to add, without line numbers."),
            "insert_line": _INSERT_LINE,
        },
        required=["label", "new_string"],
    ),
    effects="memory",
)
MEMORY_REPLACE: Final = BuiltinTool(
    name="memory_replace",
    tool_type="letta_sleeptime_core",
    description=(
        "Replace a piece of text in a memory block. It must occur exactly once, so give enough of its surroundings;"
        " replace it by an empty string to remove it. For rewriting most of a block, memory_rethink is better."
        " Returns the block's new value.\n\n"
        "Examples:\n"
        '    memory_replace(label="human", old_string="Lives in Lyon.", new_string="Lives in Porto since May 2026.")\n'
        '    memory_replace(label="tasks", old_string="- call the dentist\\n", new_string="")'
    ),
    parameters=parameters(
        {
            "label": _LABEL,
            "old_string": string("The text to replace, exactly as the block shows it, with spaces and line breaks."),
            "new_string": string("The text to put in its place, without line numbers."),
        },
        required=["label", "old_string", "new_string"],
    ),
    effects="memory",
)
MEMORY_RETHINK: Final = BuiltinTool(
    name="memory_rethink",
    tool_type="letta_sleeptime_core",
    description=(
        "Rewrite a memory block as a whole, to condense or reorganise it. Whatever the new text leaves out is gone, so"
        " carry over everything that still holds. For single facts use memory_insert or memory_replace."
        " Returns the block's new value."
    ),
    parameters=parameters(
        {
            "label": string("The label of the memory block to rewrite."),
            "new_memory": string("The complete new text of the block."),
        },
        required=["label", "new_memory"],
    ),
    effects="memory",
)
MEMORY_FINISH_EDITS: Final = BuiltinTool(
    name="memory_finish_edits",
    tool_type="letta_sleeptime_core",
    description="Say that the memory blocks are up to date and nothing more is to be edited. Call it last, and alone.",
    parameters=parameters({}),
)
MEMORY: Final = BuiltinTool(
    name="memory",
    tool_type="letta_memory_core",
    description=(
        "Create, edit, rename and remove memory blocks. A block is addressed by a path: /memories/ and its label.\n\n"
        "Commands and what they need:\n"
        "    create       path, description; file_text for a first value\n"
        "    str_replace  path, old_string, new_string; old_string must occur exactly once\n"
        "    insert       path, insert_text; insert_line to insert after, otherwise at the end\n"
        "    rename       old_path and new_path for a new label, or path and description for a new description\n"
        "    delete       path; the block leaves this agent, others that share it keep it\n\n"
        "Examples:\n"
        '    memory(command="create", path="/memories/travel", description="Trips planned and taken.",'
        ' file_text="Porto, June 2026")\n'
        '    memory(command="str_replace", path="/memories/travel", old_string="June", new_string="July")'
    ),
    parameters=parameters(
        {
            "command": string("What to do.", ["create", "str_replace", "insert", "delete", "rename"]),
            "path": string("Path of the block, for every command but a change of label."),
            "file_text": string("First value of the block, for create."),
            "description": string("What the block is for, for create and rename."),
            "old_string": string("Text to replace, exactly as the block shows it, for str_replace."),
            "new_string": string("Text to put in its place, for str_replace."),
            "insert_line": _INSERT_LINE,
            "insert_text": string("Text to add, for insert."),
            "old_path": string("Path of the block so far, for rename."),
            "new_path": string("Path of the block from now on, for rename."),
        },
        required=["command"],
    ),
    effects="memory",
)
CORE_MEMORY_APPEND: Final = BuiltinTool(
    name="core_memory_append",
    tool_type="letta_memory_core",
    description="Add text as a new line at the end of a memory block. Returns the block's new value.",
    parameters=parameters({"label": _LABEL, "content": string("The text to add.")}, required=["label", "content"]),
    effects="memory",
)
CORE_MEMORY_REPLACE: Final = BuiltinTool(
    name="core_memory_replace",
    tool_type="letta_memory_core",
    description=(
        "Replace a text wherever it occurs in a memory block; an empty new_content removes it."
        " Returns the block's new value."
    ),
    parameters=parameters(
        {
            "label": _LABEL,
            "old_content": string("The text to replace, exactly as the block shows it."),
            "new_content": string("The text to put in its place."),
        },
        required=["label", "old_content", "new_content"],
    ),
    effects="memory",
)
CONVERSATION_SEARCH: Final = BuiltinTool(
    name="conversation_search",
    tool_type="letta_core",
    description=(
        "Search everything that was said in this agent's conversations, also what is no longer in view. Give the words"
        " to look for, or only dates to see what was said then. Dates are in your time zone and both included: a date"
        " without a time means the whole day.\n\n"
        "Examples:\n"
        '    conversation_search(query="invoice Northwind")\n'
        '    conversation_search(query="deadline", roles=["user"], limit=5)\n'
        '    conversation_search(start_date="2026-03-02", end_date="2026-03-02")'
    ),
    parameters=parameters(
        {
            "query": string("Words to look for. Messages holding all of them come first."),
            "roles": strings(
                "Whose messages to search; the user's and yours by default.", ["assistant", "user", "tool"]
            ),
            "limit": integer("How many messages to return at most; 10 by default."),
            "start_date": string("The first day or moment, as YYYY-MM-DD or YYYY-MM-DDTHH:MM."),
            "end_date": string("The last day or moment, as YYYY-MM-DD or YYYY-MM-DDTHH:MM."),
        }
    ),
    effects="recall",
    parallel=True,
)
SEND_MESSAGE: Final = BuiltinTool(
    name="send_message",
    tool_type="letta_core",
    description="Send a message to the user. It is the only thing the user gets to see.",
    parameters=parameters({"message": string("The text of the message.")}, required=["message"]),
    effects="reply",
)

WORKING: Final = (
    MEMORY_INSERT, MEMORY_REPLACE, MEMORY_RETHINK, MEMORY_FINISH_EDITS, MEMORY, CORE_MEMORY_APPEND, CORE_MEMORY_REPLACE,
    CONVERSATION_SEARCH, SEND_MESSAGE,
)  # fmt: skip
