package proposal

import "agentlab/lab/tool"

// document is a JSON text whose shape is to be told: an object, or an array
// and those of its items that are objects.
type document struct {
	value
	object object
	items  []object
}

func newDocument(v value) (document, error) {
	d := document{value: v}
	var err error
	switch v.kind() {
	case '{':
		d.object, err = v.object("the document")
	case '[':
		var items []value
		if items, err = v.list("the document"); err != nil {
			return d, err
		}
		for _, item := range items {
			if item.kind() != '{' {
				continue
			}
			o, err := item.object("an item")
			if err != nil {
				return d, err
			}
			d.items = append(d.items, o)
		}
	}
	return d, err
}

// any reports whether a list has an item of which this is true.
func (d document) any(holds func(object) bool) bool {
	for _, item := range d.items {
		if holds(item) {
			return true
		}
	}
	return false
}

// shape is one way in which a format comes as JSON. Marks of the outermost
// level tell it, so that what a model wrote inside never changes the format.
type shape struct {
	format Format
	name   string
	fits   func(document) bool
	read   func(document) ([]tool.Proposal, error)
}

// ofObject is a shape whose outermost value is an object.
func ofObject(format Format, name string, fits func(object) bool, read func(value) ([]tool.Proposal, error)) shape {
	return shape{format, name,
		func(d document) bool { return fits(d.object) },
		func(d document) ([]tool.Proposal, error) { return read(d.value) }}
}

// ofList is a shape whose outermost value is an array, of which one item at
// least is a call of the format.
func ofList(format Format, name string, isCall func(object) bool, read func(value) ([]tool.Proposal, error)) shape {
	return shape{format, name,
		func(d document) bool { return d.any(isCall) },
		func(d document) ([]tool.Proposal, error) { return read(d.value) }}
}

// shapes is every shape of every format but Fenced, in the order of the
// documentation, those of a format together.
var shapes = []shape{
	ofObject(OpenAIChat, "an OpenAI chat completion",
		func(o object) bool { _, ok := o.get("choices"); return ok }, readChatResponse),
	ofObject(OpenAIChat, "an OpenAI chat choice",
		func(o object) bool { return o.has("message", '{') }, readChatChoice),
	ofObject(OpenAIChat, "an OpenAI chat message", isChatMessage, readChatMessage),

	ofObject(OpenAIResponses, "an OpenAI response",
		func(o object) bool { _, ok := o.get("output"); return ok }, readResponse),
	ofObject(OpenAIResponses, "an OpenAI output item", isFunctionCall, readOutputItem),
	ofList(OpenAIResponses, "a list of OpenAI output items", isFunctionCall, readOutputItems),

	ofObject(AnthropicMessages, "an Anthropic message",
		func(o object) bool { return o.has("content", '[') }, readAnthropicMessage),
	ofObject(AnthropicMessages, "an Anthropic content block", isToolUse, readContentBlock),
	ofList(AnthropicMessages, "a list of Anthropic content blocks", isToolUse, readContentBlocks),

	ofObject(Gemini, "a Gemini response",
		func(o object) bool { _, ok := o.get("candidates"); return ok }, readGeminiResponse),
	ofObject(Gemini, "a Gemini candidate",
		func(o object) bool { return o.has("content", '{') }, readCandidate),
	ofObject(Gemini, "a Gemini content",
		func(o object) bool { _, ok := o.get("parts"); return ok }, readGeminiContent),
	ofObject(Gemini, "a Gemini part", isFunctionCallPart, readPart),
	ofList(Gemini, "a list of Gemini parts", isFunctionCallPart, readParts),

	ofObject(MCP, "an MCP message",
		func(o object) bool { _, ok := o.get("jsonrpc"); return ok }, readMCP),
}

// readEach reads the items of an array that a function reads one by one.
func readEach(v value, name string, read func(value) ([]tool.Proposal, error)) ([]tool.Proposal, error) {
	items, err := v.list(name)
	if err != nil {
		return nil, err
	}
	var all []tool.Proposal
	for _, item := range items {
		proposals, err := read(item)
		if err != nil {
			return nil, err
		}
		all = append(all, proposals...)
	}
	return all, nil
}

// one is the proposals of what is one call.
func one(p tool.Proposal, err error) ([]tool.Proposal, error) {
	if err != nil {
		return nil, err
	}
	return []tool.Proposal{p}, nil
}
