"""AgentKeep: stateful agents in your own AWS account, behind the API of Letta."""

__version__ = "0.1.0"
