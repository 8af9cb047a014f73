"""The memory tool of Anthropic's Python SDK, answered by memdir (tried with anthropic 2.14.0)."""

from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError

from python_loop import Memory


class MemdirTool(BetaAbstractMemoryTool):
    """For `tools=[MemdirTool(Memory("./memory"))]` of `client.beta.messages.tool_runner`."""

    def __init__(self, memory, **options):
        super().__init__(**options)
        self.memory = memory

    def call(self, input):
        answer = self.memory.answer(input)
        if answer.get("is_error"):
            raise ToolError(answer["content"])
        return answer["content"]

    # Never asked, since `call` is: the SDK would fail on a bad command before it reaches them.
    view = create = str_replace = insert = delete = rename = None


if __name__ == "__main__":
    import sys

    tool = MemdirTool(Memory(*sys.argv[1:]))
    print(tool.call({"command": "create", "path": "/memories/tea.md", "file_text": "Green, without sugar.\n"}))
    print(tool.call({"command": "view", "path": "/memories/tea.md"}))
    try:
        tool.call({"command": "remember"})
    except ToolError as error:
        print(error.content)
