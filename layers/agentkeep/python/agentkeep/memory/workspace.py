"""The working copy of an agent's blocks while a step runs: tools edit it, the driver commits what came of it.

    workspace = BlockWorkspace(blocks, now=clock.now())
    returns = [run_builtin(call, context) for call in calls]      # edits `workspace`
    for change in workspace.changed(): ...                        # one put per block, conditional on its version
    compile_system(agent, workspace.blocks, facts)                # what the next model call sees

On a version conflict the driver loads the blocks again and runs the same calls on a new workspace, which also gives the
new return texts.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from agentkeep import ids
from agentkeep.memory.edits import MemoryEditError
from agentkeep.store.entities import Block
from agentkeep.text import clean


class UnknownLabelError(MemoryEditError):
    """The agent has no block with this label."""

    def __init__(self, label: str, labels: Sequence[str]) -> None:
        known = f"Its blocks are: {', '.join(labels)}." if labels else "It has no memory blocks."
        super().__init__(f"There is no memory block '{label}' on this agent. {known}")


class LabelTakenError(MemoryEditError):
    """A block was to get a label that another block of the agent has."""

    def __init__(self, label: str) -> None:
        super().__init__(
            f"There is already a memory block '{label}' on this agent. Choose another label or edit that block."
        )


class EmptyLabelError(MemoryEditError):
    """A block was to get no label."""

    def __init__(self) -> None:
        super().__init__("A memory block needs a label: send a path such as /memories/travel_plans.")


class ReadOnlyBlockError(MemoryEditError):
    """The block may be read and obeyed, not changed, by tools."""

    def __init__(self, label: str) -> None:
        super().__init__(f"The memory block '{label}' is read-only: tools cannot change, rename or remove it.")


@dataclass(frozen=True)
class BlockChange:
    """What a step did to one block, all its edits folded together.

    `before` is the block as loaded, None if the step created it; the write is conditional on `before.version`.
    `after` is the block to store, with the version that this write gives it. `detached` says that the agent no longer
    carries it; the block itself stays, as other agents may share it.
    """

    before: Block | None
    after: Block
    detached: bool = False

    @property
    def written(self) -> bool:
        """Whether the block itself has to be put; False for one that was only detached."""
        return self.before is None or self.after.version != self.before.version


class BlockWorkspace:
    """An agent's blocks, editable. Refuses to touch read-only ones; an edit that raises changes nothing.

    `new_id` names the blocks that tools create.
    """

    def __init__(
        self, blocks: Iterable[Block], *, now: datetime, new_id: Callable[[], str] = lambda: ids.new("block")
    ) -> None:
        self._now = now
        self._new_id = new_id
        self._loaded = {block.id: block for block in blocks}
        self._blocks = dict(self._loaded)
        self._detached: dict[str, Block] = {}

    @property
    def blocks(self) -> list[Block]:
        """The attached blocks in order, with the versions and times that committing gives them."""
        return list(self._blocks.values())

    @property
    def labels(self) -> list[str]:
        """The labels of the attached blocks, in order."""
        return [block.label for block in self._blocks.values()]

    def get(self, label: str) -> Block:
        """The block `label`. Raises UnknownLabelError, which lists the labels there are."""
        for block in self._blocks.values():
            if block.label == label:
                return block
        raise UnknownLabelError(label, self.labels)

    def change_value(self, label: str, edit: Callable[[str], str]) -> Block:
        """Make `edit` on the value of the block `label`; whatever it raises leaves the block alone."""
        return self._write(label, lambda block: {"value": clean(edit(block.value))})

    def describe(self, label: str, description: str) -> Block:
        """Replace the description of the block `label`."""
        return self._write(label, lambda _: {"description": clean(description)})

    def rename(self, label: str, new_label: str) -> Block:
        """Give the block `label` the label `new_label`. Raises LabelTakenError, EmptyLabelError."""
        block, wanted = self._writable(label), clean(new_label)
        if wanted != block.label:
            self._require_free(wanted)
        return self._write(label, lambda _: {"label": wanted})

    def create(self, label: str, value: str, description: str | None = None) -> Block:
        """Add a new block behind the others. Raises LabelTakenError, EmptyLabelError."""
        wanted = clean(label)
        self._require_free(wanted)
        block = Block(
            id=self._new_id(),
            label=wanted,
            value=clean(value),
            description=None if description is None else clean(description),
            created_at=self._now,
            updated_at=self._now,
        )
        self._blocks[block.id] = block
        return block

    def detach(self, label: str) -> Block:
        """Take the block `label` off the agent. Edits made to it in this step are still written."""
        block = self._writable(label)
        del self._blocks[block.id]
        if block.id in self._loaded:
            self._detached[block.id] = block
        return block

    def changed(self) -> list[BlockChange]:
        """One change per block that was created, edited or detached; nothing for edits that cancel out."""
        changes = [BlockChange(self._loaded.get(key), block) for key, block in self._blocks.items()]
        changes += [BlockChange(self._loaded[key], block, detached=True) for key, block in self._detached.items()]
        return [change for change in changes if change.written or change.detached]

    def _writable(self, label: str) -> Block:
        block = self.get(label)
        if block.read_only:
            raise ReadOnlyBlockError(label)
        return block

    def _write(self, label: str, update: Callable[[Block], dict[str, str]]) -> Block:
        block = self._writable(label)
        self._blocks[block.id] = self._versioned(block.model_copy(update=update(block)))
        return self._blocks[block.id]

    def _versioned(self, block: Block) -> Block:
        """`block` with the version of its one coming write, or as loaded if its edits cancelled out."""
        before = self._loaded.get(block.id)
        if before is None:
            return block
        if (block.label, block.value, block.description) == (before.label, before.value, before.description):
            return before
        return block.model_copy(update={"version": before.version + 1, "updated_at": self._now})

    def _require_free(self, label: str) -> None:
        if not label.strip():
            raise EmptyLabelError
        if label in self.labels:
            raise LabelTakenError(label)
