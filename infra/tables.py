"""The DynamoDB tables, defined once: the data stack creates them in AWS, the local engine on one machine.

Every key of a tenant table starts with the tenant (`{tenant}#...`), and so does every index key: IAM compares
`dynamodb:LeadingKeys` with the caller's tenant. Indexes are generic and keys-only from day one, because CloudFormation
adds one index at a time and never changes a key. `infra/README.md` has the access-pattern table.
"""

from dataclasses import dataclass
from typing import Literal

KeyType = Literal["S", "N"]


@dataclass(frozen=True)
class Index:
    """A keys-only global secondary index with string keys."""

    name: str
    partition_key: str
    sort_key: str


@dataclass(frozen=True)
class Table:
    """One table. `environment` is the variable through which functions learn its deployed name."""

    name: str
    environment: str
    sort_key_type: KeyType
    indexes: tuple[Index, ...]
    tenant: bool
    partition_key: str = "pk"
    sort_key: str = "sk"
    ttl: str = "expires_at"
    stream: bool = False


def _generic_indexes(count: int) -> tuple[Index, ...]:
    return tuple(Index(f"gsi{n}", f"gsi{n}pk", f"gsi{n}sk") for n in range(1, count + 1))


ENTITIES = Table(
    name="entities",
    environment="AGENTKEEP_ENTITIES_TABLE",
    sort_key_type="S",
    indexes=_generic_indexes(4),
    tenant=True,
    stream=True,
)
MESSAGES = Table(
    name="messages",
    environment="AGENTKEEP_MESSAGES_TABLE",
    sort_key_type="N",
    indexes=_generic_indexes(4),
    tenant=True,
    stream=True,
)
SYSTEM = Table(
    name="system",
    environment="AGENTKEEP_SYSTEM_TABLE",
    sort_key_type="S",
    indexes=_generic_indexes(4),
    tenant=False,
)
TABLES = (ENTITIES, MESSAGES, SYSTEM)
