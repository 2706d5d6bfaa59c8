package proposal_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/proposal"
)

// refusedCase is a text with the sign § where its fault is.
type refusedCase struct {
	name, marked, reason string
}

func (c refusedCase) parts() (text string, offset int) {
	before, after, found := strings.Cut(c.marked, "§")
	if !found || strings.Contains(after, "§") {
		panic("not one fault in " + c.name)
	}
	return before + after, len(before)
}

// inItem is a Responses item around an arguments string.
func inItem(spelled string) string {
	return `{"type":"function_call","name":"n","arguments":"` + spelled + `"}`
}

// inBlock is prose around a JSON block.
func inBlock(body string) string { return "Here:\n```json\n" + body + "\n```\n" }

const (
	noShape   = "the text does not have the shape of any format"
	tooEarly  = "the document ends too early"
	notClosed = "a fence that is not closed"
	badOpen   = "a JSON block must open with ```json and nothing else"
	inFence   = "a fence inside a fence"
	notFirst  = "a fence that does not begin its line"
	otherKey  = "the block has a field other than name and arguments"
	streamed  = "the arguments are still being streamed"
)

var refused = []refusedCase{
	// No format, or two.
	{"empty", "§", noShape},
	{"white space", " \n§", noShape},
	{"prose", " §I will look it up.", noShape},
	{"prose around bare JSON", `§Calling {"name":"n","arguments":{}}`, noShape},
	{"a scalar", `§"text"`, noShape},
	{"the form of a fenced block without the fence", ` §{"name":"n","arguments":{}}`, noShape},
	{"a provider's error", `§{"type":"error","error":{"type":"overloaded_error"},"message":"no"}`, noShape},
	{"a list of texts", `§[{"type":"text","text":"a"},1]`, noShape},
	{"an empty list", `§[]`, noShape},
	{"a bare list of chat tool calls", `§[{"type":"function","function":{"name":"n","arguments":"{}"}}]`, noShape},
	{"a JSON-RPC batch", `§[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n"}}]`, noShape},
	{"a stream event", `§{"type":"response.output_item.done","item":{"type":"function_call","name":"n","arguments":"{}"}}`, noShape},
	{"chat and Anthropic", `§{"role":"assistant","content":[{"type":"tool_use","name":"a","input":{}}],"tool_calls":[]}`,
		"the text has two shapes: an OpenAI chat message and an Anthropic message"},
	{"MCP and Gemini", ` §{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"},"functionCall":{"name":"b"}}`,
		"the text has two shapes: a Gemini part and an MCP message"},
	{"a list of two formats", `§[{"type":"function_call","name":"a","arguments":"{}"},{"type":"tool_use","name":"b","input":{}}]`,
		"the text has two shapes: a list of OpenAI output items and a list of Anthropic content blocks"},
	{"two shapes of one format", `§{"choices":[],"message":{}}`,
		"the text has two shapes: an OpenAI chat completion and an OpenAI chat choice"},

	// The text as a whole.
	{"byte order mark", "§\ufeff{}", "a byte order mark"},
	{"byte order mark before prose", "§\ufeffHere:\n```json\n{}\n```", "a byte order mark"},
	{"invalid UTF-8 in a string", "{\"jsonrpc\":\"§\xff\"}", "invalid UTF-8"},
	{"invalid UTF-8 in prose", "Here §\xc0\xaf:\n```json\n{\"name\":\"n\",\"arguments\":{}}\n```", "invalid UTF-8"},
	{"cut within a character", "{\"jsonrpc\":\"§\xe5\xb7", "invalid UTF-8"},
	{"UTF-16", "§\xff\xfe{\x00}\x00", "invalid UTF-8"},

	// JSON, in the document.
	{"duplicate key", `{"jsonrpc":"2.0",§"jsonrpc":"2.0"}`, "duplicate key"},
	{"duplicate key deep in an unknown field", `{"jsonrpc":"2.0","x":[{"y":{"k":1, §"k":1}}]}`, "duplicate key"},
	{"duplicate key in embedded arguments", `{"functionCall":{"name":"n","args":{"a":1,§"a":2}}}`, "duplicate key"},
	{"duplicate key by escapes", `{"functionCall":{"name":"n","args":{"a":1,§"\u0061":2}}}`, "duplicate key"},
	{"second name", `{"type":"tool_use","name":"a","input":{},§"name":"b"}`, "duplicate key"},
	{"trailing document", `{"functionCall":{"name":"n"}} §{}`, "text after the document"},
	{"trailing text", `{"functionCall":{"name":"n"}} §ok`, "text after the document"},
	{"trailing fence", "{\"functionCall\":{\"name\":\"n\"}}\n§```json\n{\"name\":\"n\",\"arguments\":{}}\n```", "text after the document"},
	{"single quotes", `{§'functionCall':{}}`, `invalid character '\'' at start of value`},
	{"comment", `{"functionCall":{"name":"n"§/* n */}}`, "invalid character '/' after object value (expecting ',' or '}')"},
	{"comment before", "§// call\n{\"functionCall\":{\"name\":\"n\"}}", noShape},
	{"trailing comma in an object", `{"functionCall":{"name":"n"§,}}`, "invalid character ',' at start of value"},
	{"trailing comma in an array", `[{"functionCall":{"name":"n"}}§,]`, "invalid character ',' at start of value"},
	{"NaN", `{"functionCall":{"name":"n","args":{"a":§NaN}}}`, "invalid character 'N' at start of value"},
	{"Infinity", `{"functionCall":{"name":"n","args":{"a":-§Infinity}}}`, "invalid character 'I' in number (expecting digit)"},
	{"unpaired surrogate", `{"functionCall":{"name":"§\ud83d"}}`, "invalid surrogate pair `\\ud83d\"}}` in string"},
	{"surrogates in reverse", `{"functionCall":{"name":"§\ude00\ud83d"}}`, "invalid surrogate pair `\\ude00\\ud83d` in string"},
	{"a number of too many digits", `{"functionCall":{"name":"n","args":{"a":§1` + strings.Repeat("0", 400) + `}}}`, "a number of more than 400 digits"},
	{"a number too large", `{"functionCall":{"name":"n","args":{"a":§1e401}}}`, "a number with an exponent beyond ±400"},
	{"nested too deep", `{"functionCall":{"name":"n","args":{"a":` + strings.Repeat("[", 61) + `§[` + strings.Repeat("]", 62) + `}}}`, "nested deeper than 64 levels"},
	{"cut", `{"functionCall":{"name":"n"}§`, tooEarly},

	// JSON, in an arguments string.
	{"inner duplicate key", inItem(`{\"a\":1,§\"a\":2}`), "in arguments: duplicate key"},
	{"inner duplicate key, deep", inItem(`{\"x\":[{\"k\":1,\n§\"k\":1}]}`), "in arguments: duplicate key"},
	{"inner duplicate key by inner escapes", inItem(`{\"a\":1,§\"\\u0061\":2}`), "in arguments: duplicate key"},
	{"inner duplicate key by outer escapes", inItem(`\u007b\"a\":1\u002c§\u0022\u0061\":2}`), "in arguments: duplicate key"},
	{"inner duplicate key after a long character", inItem(`{\"\ud83d\ude00工\u5de5\":1,§\"😀工工\":2}`), "in arguments: duplicate key"},
	{"inner trailing document", inItem(`{}\t§{}`), "in arguments: text after the document"},
	{"inner trailing text", inItem(`{} §\u0078`), "in arguments: text after the document"},
	{"inner single quotes", inItem(`{§'a':1}`), `in arguments: invalid character '\'' at start of value`},
	{"inner comment", inItem(`{} §\/\/ none`), "in arguments: text after the document"},
	{"inner comment before", inItem(`§// none\n{}`), "in arguments: invalid character '/' at start of value"},
	{"inner trailing comma", inItem(`{\"a\":1§,}`), "in arguments: invalid character ',' at start of value"},
	{"inner NaN", inItem(`{\"a\":§NaN}`), "in arguments: invalid character 'N' at start of value"},
	{"inner Infinity", inItem(`{\"a\":§Infinity}`), "in arguments: invalid character 'I' at start of value"},
	{"inner unpaired surrogate", inItem(`{\"a\":\"§\\ud83d\"}`), "in arguments: invalid surrogate pair `\\ud83d\"}` in string"},
	{"inner bare line end in a string", inItem(`{\"a\":\"§\n\"}`), `in arguments: invalid character '\n' in string (expecting non-control character)`},
	{"inner byte order mark", inItem(`§\ufeff{}`), "in arguments: a byte order mark"},
	{"inner number too large", inItem(`{\"a\":§1e-401}`), "in arguments: a number with an exponent beyond ±400"},
	{"inner nesting", inItem(`{\"a\":` + strings.Repeat("[", 63) + `§[` + strings.Repeat("]", 64) + `}`), "in arguments: nested deeper than 64 levels"},
	{"inner cut", inItem(`{\"a\":1§`), "in arguments: " + tooEarly},
	{"inner cut within a string", inItem(`{\"a\":\"b§`), "in arguments: " + tooEarly},
	{"inner white space only", inItem(`§ \n`), "in arguments: no JSON document"},
	{"inner fence", inItem("§```json\\n{}\\n```"), "in arguments: invalid character '`' at start of value"},
	{"outer trailing comma after arguments", `{"type":"function_call","name":"n","arguments":"{}"§,}`, "invalid character ',' at start of value"},
	{"unpaired surrogate in the arguments string", inItem(`{\"a\":\"§\ud83d\"}`), "invalid surrogate pair `\\ud83d\\\"}\"}` in string"},

	// Arguments that are not an object.
	{"empty arguments string", `{"type":"function_call","name":"n","arguments":§""}`, "arguments is an empty string, not an object"},
	{"arguments null", `{"type":"function_call","name":"n","arguments":§null}`, "arguments must be a string that holds an object, not null"},
	{"arguments an object where a string is due", `{"type":"function_call","name":"n","arguments":§{}}`, "arguments must be a string that holds an object, not an object"},
	{"arguments a string of null", inItem(`§null`), "arguments must hold an object, not null"},
	{"arguments a string of an array", inItem(`\u0020§[{}]`), "arguments must hold an object, not an array"},
	{"arguments a string of a string", inItem(`§\"{}\"`), "arguments must hold an object, not a string"},
	{"arguments a string of a number", inItem(`§1`), "arguments must hold an object, not a number"},
	{"arguments a string of a boolean", inItem(`§true`), "arguments must hold an object, not a boolean"},
	{"arguments missing", `§{"type":"function_call","name":"n"}`, "arguments is missing"},
	{"input null", `{"type":"tool_use","name":"n","input":§null}`, "input must be an object, not null"},
	{"input an array", `{"type":"tool_use","name":"n","input":§[]}`, "input must be an object, not an array"},
	{"input a string", `{"type":"tool_use","name":"n","input":§"{}"}`, "input must be an object, not a string"},
	{"input missing", `§{"type":"tool_use","name":"n"}`, "input is missing"},
	{"args null", `{"functionCall":{"name":"n","args":§null}}`, "args must be an object, not null"},
	{"args a string", `{"functionCall":{"name":"n","args":§"{}"}}`, "args must be an object, not a string"},
	{"MCP arguments null", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n","arguments":§null}}`, "arguments must be an object, not null"},
	{"MCP arguments an array", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n","arguments":§[1]}}`, "arguments must be an object, not an array"},

	// Names.
	{"name missing", `§{"type":"tool_use","input":{}}`, "name is missing"},
	{"name of another case", `§{"type":"tool_use","Name":"n","input":{}}`, "name is missing"},
	{"name null", `{"type":"tool_use","name":§null,"input":{}}`, "name must be a string, not null"},
	{"name a number", `{"type":"function_call","name":§7,"arguments":"{}"}`, "name must be a string, not a number"},
	{"name an object", `{"functionCall":{"name":§{}}}`, "name must be a string, not an object"},
	{"name empty", `{"functionCall":{"name":§""}}`, "name is empty"},
	{"chat name missing", `{"role":"assistant","tool_calls":[{"type":"function","function":§{"arguments":"{}"}}]}`, "name is missing"},

	// Envelopes.
	{"no choice", `{"choices":§[]}`, "choices is empty"},
	{"two choices", `{"choices":[{"message":{}}, §{"message":{}}]}`, "choices has more than one item: which one is meant is not said"},
	{"choices an object", `{"choices":§{}}`, "choices must be an array, not an object"},
	{"a choice that is a number", `{"choices":[§1]}`, "a choice must be an object, not a number"},
	{"a message that is null", `{"choices":[{"message":§null}]}`, "message must be an object, not null"},
	{"a choice that is a delta", `{"choices":[§{"delta":{"tool_calls":[]}}]}`, "message is missing"},
	{"a choice cut off", `{"message":{"role":"assistant","tool_calls":[]},"finish_reason":§"length"}`, "the output ended early, as finish_reason says"},
	{"a choice filtered", `{"message":{"role":"assistant","content":"a"},"finish_reason":§"content_filter"}`, "the output ended early, as finish_reason says"},
	{"a finish_reason that is no string", `{"message":{"role":"assistant"},"finish_reason":§1}`, "finish_reason must be a string, not a number"},
	{"a message of the user", `{"role":§"user","tool_calls":[]}`, `role must be "assistant"`},
	{"a message of nobody", `§{"tool_calls":[]}`, "role is missing"},
	{"the deprecated function_call", `{"role":"assistant","content":null,"function_call":§{"name":"n","arguments":"{}"}}`, "function_call is deprecated and not read"},
	{"tool_calls an object", `{"role":"assistant","tool_calls":§{}}`, "tool_calls must be an array, not an object"},
	{"a tool call that is null", `{"role":"assistant","tool_calls":[§null]}`, "a tool call must be an object, not null"},
	{"a tool call without a type", `{"role":"assistant","tool_calls":[§{"function":{"name":"n","arguments":"{}"}}]}`, "type is missing"},
	{"a custom tool call", `{"role":"assistant","tool_calls":[{"type":§"custom","custom":{"name":"n","input":"x"}}]}`, `type must be "function"`},
	{"a function that is a string", `{"role":"assistant","tool_calls":[{"type":"function","function":§"n"}]}`, "function must be an object, not a string"},
	{"a tool call without a function", `{"role":"assistant","tool_calls":[§{"type":"function"}]}`, "function is missing"},
	{"the second call is at fault", `{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"n","arguments":"{}"}},{"type":"function","function":{"name":"n","arguments":"§[]"}}]}`,
		"arguments must hold an object, not an array"},
	{"a response cut off", `{"status":§"incomplete","output":[]}`, "the output ended early, as status says"},
	{"a response in progress", `{"status":§"in_progress","output":[]}`, "the output ended early, as status says"},
	{"output an object", `{"output":§{}}`, "output must be an array, not an object"},
	{"an item without a type", `{"output":[§{"name":"n","arguments":"{}"}]}`, "type is missing"},
	{"an item that is a string", `{"output":[§"function_call"]}`, "an output item must be an object, not a string"},
	{"an incomplete call", `{"type":"function_call","status":§"incomplete","name":"n","arguments":"{}"}`, "the output ended early, as status says"},
	{"a call in a namespace", `{"type":"function_call","namespace":§"crm","name":"n","arguments":"{}"}`, "a namespace has no place in a proposal"},
	{"a custom call beside a function call", `[{"type":"function_call","name":"n","arguments":"{}"},§{"type":"custom_tool_call","name":"n","input":"x"}]`, "custom_tool_call is a call that cannot be a proposal"},
	{"a shell call", `{"output":[§{"type":"local_shell_call","action":{}}]}`, "local_shell_call is a call that cannot be a proposal"},
	{"a message cut off", `{"role":"assistant","content":[{"type":"tool_use","name":"n","input":{}}],"stop_reason":§"max_tokens"}`, "the output ended early, as stop_reason says"},
	{"a message refused", `{"role":"assistant","content":[],"stop_reason":§"refusal"}`, "the output ended early, as stop_reason says"},
	{"content blocks of the user", `{"role":§"user","content":[{"type":"tool_result"}]}`, `role must be "assistant"`},
	{"a block without a type", `{"role":"assistant","content":[§{"name":"n","input":{}}]}`, "type is missing"},
	{"a block that is a number", `{"role":"assistant","content":[§1]}`, "a content block must be an object, not a number"},
	{"two candidates", `{"candidates":[{"content":{}},§{"content":{}}]}`, "candidates has more than one item: which one is meant is not said"},
	{"no candidate", `{"candidates":§[]}`, "candidates is empty"},
	{"a candidate cut off", `{"candidates":[{"content":{"parts":[]},"finishReason":§"MAX_TOKENS"}]}`, "the output ended early, as finishReason says"},
	{"a malformed call by Gemini's own word", `{"candidates":[{"finishReason":§"MALFORMED_FUNCTION_CALL"}]}`, "the output ended early, as finishReason says"},
	{"a candidate that is a string", `{"candidates":[§"x"]}`, "a candidate must be an object, not a string"},
	{"a content that is a string", `{"candidates":[{"content":§"x"}]}`, "content must be an object, not a string"},
	{"a content of the user", `{"role":§"user","parts":[{"functionCall":{"name":"n"}}]}`, `role must be "model"`},
	{"parts an object", `{"parts":§{}}`, "parts must be an array, not an object"},
	{"a part that is a string", `{"parts":[§"x"]}`, "a part must be an object, not a string"},
	{"function_call for functionCall", `{"parts":[{"function_call":§{"name":"n"}}]}`, "function_call is not how the API spells functionCall"},
	{"functionCall a string", `{"functionCall":§"n"}`, "functionCall must be an object, not a string"},
	{"arguments in parts", `{"functionCall":{"name":"n","partialArgs":§[]}}`, streamed},
	{"more arguments to come", `{"functionCall":{"name":"n","args":{},"willContinue":§true}}`, streamed},
	{"another version of JSON-RPC", `{"jsonrpc":§"1.0","id":1,"method":"tools/call","params":{"name":"n"}}`, `jsonrpc must be "2.0"`},
	{"a JSON-RPC response", `§{"jsonrpc":"2.0","id":1,"result":{}}`, "method is missing"},
	{"method a number", `{"jsonrpc":"2.0","id":1,"method":§1}`, "method must be a string, not a number"},
	{"a notification", `§{"jsonrpc":"2.0","method":"tools/call","params":{"name":"n"}}`, "id is missing"},
	{"id null", `{"jsonrpc":"2.0","id":§null,"method":"tools/call","params":{"name":"n"}}`, "id must be a string or a number, not null"},
	{"params missing", `§{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, "params is missing"},
	{"params an array", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":§["n"]}`, "params must be an object, not an array"},

	// Fences.
	{"two JSON blocks", inBlock(`{"name":"a","arguments":{}}`) + "or\n§```json\n{\"name\":\"b\",\"arguments\":{}}\n```", "a second JSON block"},
	{"two equal JSON blocks", inBlock(`{"name":"a","arguments":{}}`) + "  §" + inBlock(`{"name":"a","arguments":{}}`)[6:], "a second JSON block"},
	{"a second JSON block in capitals", inBlock(`{"name":"a","arguments":{}}`) + "§```JSON\n{}\n```", "a second JSON block"},
	{"a second JSON block by tildes", inBlock(`{"name":"a","arguments":{}}`) + "§~~~json\n{}\n~~~", "a second JSON block"},
	{"JSON in capitals", "§```JSON\n{\"name\":\"a\",\"arguments\":{}}\n```", badOpen},
	{"JSON by tildes", "§~~~json\n{\"name\":\"a\",\"arguments\":{}}\n~~~", badOpen},
	{"JSON by four backticks", "§````json\n{\"name\":\"a\",\"arguments\":{}}\n````", badOpen},
	{"JSON with a title", "§```json title=\"call\"\n{\"name\":\"a\",\"arguments\":{}}\n```", badOpen},
	{"JSON with a colon", "§```json:\n{\"name\":\"a\",\"arguments\":{}}\n```", badOpen},
	{"JSON with a no-break space", "§```json\u00a0\n{\"name\":\"a\",\"arguments\":{}}\n```", badOpen},
	{"JSON in what may be an indented code block", "    §```json\n    {\"name\":\"a\",\"arguments\":{}}\n    ```", badOpen},
	{"JSON behind a tab", "\t§```json\n\t{\"name\":\"a\",\"arguments\":{}}\n\t```", badOpen},
	{"JSON in a quotation", "> §```json\n> {\"name\":\"a\",\"arguments\":{}}\n> ```", notFirst},
	{"JSON in a list item", "- §```json\n  {\"name\":\"a\",\"arguments\":{}}\n  ```", notFirst},
	{"JSON in a line of prose", "Call §```json {\"name\":\"a\",\"arguments\":{}}``` now", notFirst},
	{"JSON on the line of its fence", "§```json {\"name\":\"a\",\"arguments\":{}}```", "a fence with more than a tag on its line"},
	{"a fence inside a fence", "```text\n§```json\n{\"name\":\"a\",\"arguments\":{}}\n```\n```", inFence},
	{"a fence inside a longer fence", "````\n§```json\n{\"name\":\"a\",\"arguments\":{}}\n```\n````", inFence},
	{"a fence inside tildes", "~~~\n§```json\n{\"name\":\"a\",\"arguments\":{}}\n```\n~~~", inFence},
	{"a JSON block with a longer close", inBlock("{\"name\":\"a\",\"arguments\":{}}\n§````"), inFence},
	{"a JSON block whose close is indented", inBlock("{\"name\":\"a\",\"arguments\":{}}\n     §```"), inFence},
	{"unclosed", "Here:\n§```json\n{\"name\":\"a\",\"arguments\":{}}\n", notClosed},
	{"closed on the last line of the JSON", "§```json\n{\"name\":\"a\",\"arguments\":{}}```", notClosed},
	{"unclosed after the JSON block", inBlock(`{"name":"a","arguments":{}}`) + "§```python\nrun()", notClosed},
	{"an empty block", inBlock("§"), "no JSON document"},
	{"no line in a block", "```json\n§```", "no JSON document"},
	{"duplicate key in a block", inBlock(`{"name":"a","arguments":{"k":1,§"\u006b":2}}`), "duplicate key"},
	{"trailing data in a block", inBlock(`{"name":"a","arguments":{}} §{}`), "text after the document"},
	{"a comment in a block", inBlock("{\"name\":\"a\",\"arguments\":{}}\n§// done"), "text after the document"},
	{"single quotes in a block", inBlock(`{§'name':'a','arguments':{}}`), `invalid character '\'' at start of value`},
	{"a byte order mark in a block", inBlock("§\ufeff{}"), "a byte order mark"},
	{"an unknown field in a block", inBlock(`{"name":"a","arguments":{}, §"approved":true}`), otherKey},
	{"an envelope in a block", inBlock(`{§"role":"assistant","tool_calls":[]}`), otherKey},
	{"a list in a block", inBlock(`§[{"name":"a","arguments":{}}]`), "the block must be an object, not an array"},
	{"a block without a name", inBlock(`§{"arguments":{}}`), "name is missing"},
	{"a block with a number for its name", inBlock(`{"name":§1,"arguments":{}}`), "name must be a string, not a number"},
	{"a block without arguments", inBlock(`§{"name":"a"}`), "arguments is missing"},
	{"a block with a string for its arguments", inBlock(`{"name":"a","arguments":§"{}"}`), "arguments must be an object, not a string"},
	{"a block that is cut", "```json\n{\"name\":\"a\"\n§```", tooEarly},
}

func TestRefuses(t *testing.T) {
	for _, tt := range refused {
		t.Run(tt.name, func(t *testing.T) {
			text, offset := tt.parts()
			got, err := proposal.Read([]byte(text))
			want := &proposal.Malformed{Offset: offset, Reason: tt.reason}
			var malformed *proposal.Malformed
			if !errors.As(err, &malformed) {
				t.Fatalf("Read(%q) = %s, %v, want %v", text, got, err, want)
			}
			if diff := cmp.Diff(want, malformed); diff != "" {
				t.Errorf("Read(%q) (-want +got):\n%s", text, diff)
			}
		})
	}
}

var nothing = []struct {
	name   string
	format proposal.Format
	text   string
}{
	{"chat text", proposal.OpenAIChat, `{"role":"assistant","content":"Done."}`},
	{"chat text of an SDK", proposal.OpenAIChat, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"Done.","tool_calls":null}}]}`},
	{"chat text with a block", proposal.OpenAIChat, `{"role":"assistant","content":"` + "```json\\n{\\\"name\\\":\\\"a\\\",\\\"arguments\\\":{}}\\n```" + `"}`},
	{"no chat tool calls", proposal.OpenAIChat, `{"role":"assistant","content":null,"tool_calls":[]}`},
	{"response text", proposal.OpenAIResponses, `{"status":"completed","output":[{"type":"message","content":[]},{"type":"mcp_call","name":"n","arguments":"{}"}]}`},
	{"Anthropic text", proposal.AnthropicMessages, `{"role":"assistant","content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn"}`},
	{"Anthropic server tools", proposal.AnthropicMessages, `{"role":"assistant","content":[{"type":"server_tool_use","name":"n","input":{}}],"stop_reason":"pause_turn"}`},
	{"Gemini text", proposal.Gemini, `{"candidates":[{"content":{"role":"model","parts":[{"text":"Done."}]},"finishReason":"STOP"}]}`},
	{"Gemini without parts", proposal.Gemini, `{"candidates":[{"content":{"role":"model"},"finishReason":"STOP"}]}`},
	{"Gemini without content", proposal.Gemini, `{"candidates":[{"finishReason":"STOP"}]}`},
	{"another MCP request", proposal.MCP, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`},
	{"an MCP notification", proposal.MCP, `{"jsonrpc":"2.0","method":"notifications/initialized"}`},
	{"prose with another block", proposal.Fenced, "Run\n```sh\nls\n```\n"},
	{"prose with a block without a tag", proposal.Fenced, "```\n{\"name\":\"a\",\"arguments\":{}}\n```"},
	{"prose with another kind of JSON", proposal.Fenced, "```json5\n{name:'a',arguments:{}}\n```"},
}

func TestNothingWasProposed(t *testing.T) {
	for _, tt := range nothing {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := proposal.Read([]byte(tt.text)); !errors.Is(err, proposal.ErrNothing) {
				t.Errorf("Read = %s, %v", got, err)
			}
			if got, err := proposal.ReadAs(tt.format, []byte(tt.text)); !errors.Is(err, proposal.ErrNothing) {
				t.Errorf("ReadAs(%s) = %s, %v", tt.format, got, err)
			}
		})
	}
}

func TestReadAs(t *testing.T) {
	twoShapes := `{"role":"assistant","content":[{"type":"tool_use","name":"a","input":{}}],` +
		`"tool_calls":[{"type":"function","function":{"name":"b","arguments":"{}"}}]}`
	tests := []struct {
		name   string
		format proposal.Format
		text   string
		want   string // the name of the one proposal, or the error
	}{
		{"ambiguous, read as chat", proposal.OpenAIChat, twoShapes, "b"},
		{"ambiguous, read as Anthropic", proposal.AnthropicMessages, twoShapes, "a"},
		{"another format", proposal.Gemini, ` {"jsonrpc":"2.0"}`, "malformed_proposal: the text does not have the shape of gemini (byte 1)"},
		{"a scalar", proposal.MCP, `"x"`, "malformed_proposal: the text does not have the shape of mcp (byte 0)"},
		{"prose", proposal.MCP, `Call it`, "malformed_proposal: invalid character 'C' at start of value (byte 0)"},
		{"nothing at all", proposal.MCP, ``, "malformed_proposal: no JSON document (byte 0)"},
		{"prose without a fence", proposal.Fenced, "Done.", "nothing was proposed"},
		{"no prose at all", proposal.Fenced, "", "nothing was proposed"},
		{"bare JSON", proposal.Fenced, ` {"name":"a","arguments":{}}`, "malformed_proposal: JSON without a fence is not fenced (byte 1)"},
		{"prose that begins with a bracket", proposal.Fenced, "[Thinking] " + inBlock(`{"name":"a","arguments":{}}`), "a"},
		{"byte order mark", proposal.Fenced, "\ufeffDone.", "malformed_proposal: a byte order mark (byte 0)"},
		{"no such format", "yaml", `{}`, `no format is named "yaml"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			proposals, err := proposal.ReadAs(tt.format, []byte(tt.text))
			got := ""
			if err != nil {
				got = err.Error()
			} else if len(proposals) == 1 {
				got = proposals[0].Name
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestCodeOfMalformed(t *testing.T) {
	if got := (&proposal.Malformed{}).Code(); got != "malformed_proposal" || proposal.MalformedCategory != "protocol" {
		t.Errorf("%s of category %s", got, proposal.MalformedCategory)
	}
}
