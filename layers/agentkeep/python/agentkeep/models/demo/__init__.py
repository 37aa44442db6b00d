"""`demo/memory`: a small rule-based model, so that a newcomer without a key sees the whole loop work.

It works only from the request it receives, like any model: it reads the memory blocks from the system message, takes up
the facts it is told by calling the memory tools it is offered, and answers from its blocks and the conversation. The
same request always brings the same answer. No network, no language model, and it says so.
"""

from agentkeep.models.demo.model import call

__all__ = ["call"]
