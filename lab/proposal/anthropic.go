package proposal

import (
	"slices"

	"agentlab/lab/tool"
)

// Messages, after Anthropic's API reference, "Messages"
// (docs.anthropic.com/en/api/messages), its guide "Handling stop reasons", and
// the types that its OpenAPI description generates
// (github.com/anthropics/anthropic-sdk-python, src/anthropic/types:
// message.py, tool_use_block.py, stop_reason.py): a message has the role
// "assistant", a stop_reason and a content of blocks; a block of type
// "tool_use" has a name and an input, which is an object and always there.
// Blocks of type "server_tool_use" are traces of what the provider ran.

// earlyStops are the stop reasons after which the last tool_use block can be
// incomplete.
var earlyStops = []string{"max_tokens", "model_context_window_exceeded", "refusal"}

func isToolUse(o object) bool { return o.is("type", "tool_use") }

func readAnthropicMessage(v value) ([]tool.Proposal, error) {
	message, err := v.object("the message")
	if err != nil {
		return nil, err
	}
	if err := message.needConstant("role", "assistant"); err != nil {
		return nil, err
	}
	err = message.needEnd("stop_reason", func(reason string) bool { return slices.Contains(earlyStops, reason) })
	if err != nil {
		return nil, err
	}
	content, err := message.need("content")
	if err != nil {
		return nil, err
	}
	return readContentBlocks(content)
}

func readContentBlocks(v value) ([]tool.Proposal, error) {
	return readEach(v, "content", readContentBlock)
}

func readContentBlock(v value) ([]tool.Proposal, error) {
	block, err := v.object("a content block")
	if err != nil {
		return nil, err
	}
	kind, err := block.needString("type")
	if err != nil {
		return nil, err
	}
	if kind != "tool_use" {
		return nil, nil
	}
	return one(block.proposal("input", value.embedded))
}
