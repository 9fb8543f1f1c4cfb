"""The tools as LlamaIndex's agents take them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..streaming import awaited
from .call import Call, Result
from .definitions import TOOLS, Tool
from .rights import ALL_RIGHTS

if TYPE_CHECKING:
    from llama_index.core.tools import FunctionTool, ToolOutput

    from ..facade import KnowledgeEngine


def llama_tools(
    engine: KnowledgeEngine,
    *,
    read_only: bool,
    namespace: str | None,
    folders: Sequence[str | Path],
) -> list[FunctionTool]:
    """Every tool as a `FunctionTool`; those that write only where that is allowed."""
    rights = ALL_RIGHTS if namespace is None else ALL_RIGHTS.only(namespace)
    call = Call(rights=rights, namespace=namespace, folders=[Path(one) for one in folders])
    return [_function_tool(engine, tool, call) for tool in TOOLS if not (read_only and tool.writes)]


def _function_tool(engine: KnowledgeEngine, tool: Tool, call: Call) -> FunctionTool:
    from llama_index.core.tools import FunctionTool

    confined = call.namespace is not None

    def done(**arguments: object) -> Result:
        wanted = tool.checked(arguments, confined=confined)
        namespace = call.namespace if confined else getattr(wanted, "namespace", None)
        here = Call(rights=call.rights, namespace=namespace, folders=call.folders)
        return tool.run(engine, wanted, here)

    async def done_meanwhile(**arguments: object) -> Result:
        return await awaited(lambda: done(**arguments))

    def told(result: Result) -> ToolOutput:
        from llama_index.core.tools import ToolOutput

        return ToolOutput(
            content=result.text,
            tool_name=tool.name,
            raw_input={},
            raw_output=tool.plain(result),
        )

    return FunctionTool.from_defaults(
        fn=done,
        async_fn=done_meanwhile,
        name=tool.name,
        description=tool.description,
        fn_schema=tool.arguments_schema(confined=confined),
        callback=told,
    )
