"""The official SDK's MCP server; what is wrong with arguments that make no sense, it says in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from pydantic import ValidationError

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context
    from mcp.types import CallToolResult, InputRequiredResult


class OneLineServer(MCPServer[Any]):
    """An MCP server whose refusals of arguments are one line, each argument by its name."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool by its name.

        Raises ToolError, in one line, if the arguments make no sense or the tool refuses them.
        """
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error, UnexpectedToolError) or not isinstance(error.__cause__, ValidationError):
                raise
            raise ToolError(f"Error executing tool {name}: {_line(error.__cause__)}") from None


def _line(error: ValidationError) -> str:
    """Return what is wrong with each argument."""
    faults = ((".".join(map(str, fault["loc"])), fault["msg"]) for fault in error.errors(include_input=False))
    return "; ".join(f"{name}: {message}" for name, message in faults)
