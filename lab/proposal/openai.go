package proposal

import (
	"slices"

	"agentlab/lab/tool"
)

// Chat Completions, after OpenAI's API reference, "The chat completion object"
// (platform.openai.com/docs/api-reference/chat/object), and the types that its
// OpenAPI description generates (github.com/openai/openai-python,
// src/openai/types/chat: chat_completion.py, chat_completion_message.py,
// chat_completion_message_function_tool_call.py): a response has choices, a
// choice a message and a finish_reason, an assistant message tool_calls, and a
// call of type "function" a function whose name and arguments are strings.
// tool_calls may be absent or null.

func isChatMessage(o object) bool {
	_, ok := o.get("tool_calls")
	return ok || o.is("role", "assistant") && (o.has("content", '"') || o.has("content", 'n'))
}

func readChatResponse(v value) ([]tool.Proposal, error) {
	response, err := v.object("the response")
	if err != nil {
		return nil, err
	}
	choices, err := response.need("choices")
	if err != nil {
		return nil, err
	}
	choice, err := choices.only("choices")
	if err != nil {
		return nil, err
	}
	return readChatChoice(choice)
}

func readChatChoice(v value) ([]tool.Proposal, error) {
	choice, err := v.object("a choice")
	if err != nil {
		return nil, err
	}
	err = choice.needEnd("finish_reason", func(reason string) bool {
		return reason == "length" || reason == "content_filter"
	})
	if err != nil {
		return nil, err
	}
	message, err := choice.need("message")
	if err != nil {
		return nil, err
	}
	return readChatMessage(message)
}

func readChatMessage(v value) ([]tool.Proposal, error) {
	message, err := v.object("message")
	if err != nil {
		return nil, err
	}
	if err := message.needConstant("role", "assistant"); err != nil {
		return nil, err
	}
	// To pass over the predecessor of tool_calls would lose a proposal.
	if deprecated, ok := message.set("function_call"); ok {
		return nil, fault(deprecated.start, "function_call is deprecated and not read")
	}
	calls, ok := message.set("tool_calls")
	if !ok {
		return nil, nil
	}
	return readEach(calls, "tool_calls", readToolCall)
}

func readToolCall(v value) ([]tool.Proposal, error) {
	call, err := v.object("a tool call")
	if err != nil {
		return nil, err
	}
	// A call of type "custom" has free text for its input.
	if err := call.needConstant("type", "function"); err != nil {
		return nil, err
	}
	function, err := call.need("function")
	if err != nil {
		return nil, err
	}
	o, err := function.object("function")
	if err != nil {
		return nil, err
	}
	return one(o.proposal("arguments", value.encoded))
}

// Responses, after OpenAI's API reference, "The response object"
// (platform.openai.com/docs/api-reference/responses/object), and the types of
// the same package (src/openai/types/responses: response_output_item.py,
// response_function_tool_call.py, response_status.py): a response has a status
// and an output of items; an item of type "function_call" has a name and
// arguments, both strings, and a status where it came from the API.

// foreignCalls are the items that ask a client to act and are not a name with
// JSON arguments of its own tools. To pass over them would lose a proposal.
// The calls that the provider ran itself (web_search_call, mcp_call, ...) are
// traces and ask for nothing.
var foreignCalls = []string{
	"apply_patch_call", "computer_call", "custom_tool_call", "local_shell_call", "mcp_approval_request", "shell_call",
}

func isFunctionCall(o object) bool { return o.is("type", "function_call") }

func incomplete(status string) bool { return status != "completed" }

func readResponse(v value) ([]tool.Proposal, error) {
	response, err := v.object("the response")
	if err != nil {
		return nil, err
	}
	if err := response.needEnd("status", incomplete); err != nil {
		return nil, err
	}
	output, err := response.need("output")
	if err != nil {
		return nil, err
	}
	return readOutputItems(output)
}

func readOutputItems(v value) ([]tool.Proposal, error) {
	return readEach(v, "output", readOutputItem)
}

func readOutputItem(v value) ([]tool.Proposal, error) {
	item, err := v.object("an output item")
	if err != nil {
		return nil, err
	}
	kind, err := item.needString("type")
	if err != nil {
		return nil, err
	}
	if slices.Contains(foreignCalls, kind) {
		return nil, fault(item.start, "%s is a call that cannot be a proposal", kind)
	}
	if kind != "function_call" {
		return nil, nil
	}
	if err := item.needEnd("status", incomplete); err != nil {
		return nil, err
	}
	// The same name in another namespace is another tool.
	if namespace, ok := item.set("namespace"); ok {
		return nil, fault(namespace.start, "a namespace has no place in a proposal")
	}
	return one(item.proposal("arguments", value.encoded))
}
