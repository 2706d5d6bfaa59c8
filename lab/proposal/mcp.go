package proposal

import "agentlab/lab/tool"

// MCP, after its specification (modelcontextprotocol.io/specification:
// "Tools", "Calling Tools"; "Overview", "Requests"; schema.ts,
// CallToolRequestParams): a request of JSON-RPC 2.0 has an id that is a string
// or a number, and never null; that of method "tools/call" has params with a
// name and, optionally, arguments, an object. Batches are no longer part of
// the protocol and are not read.
func readMCP(v value) ([]tool.Proposal, error) {
	message, err := v.object("the message")
	if err != nil {
		return nil, err
	}
	if err := message.needConstant("jsonrpc", "2.0"); err != nil {
		return nil, err
	}
	method, err := message.needString("method")
	if err != nil {
		return nil, err
	}
	if method != "tools/call" {
		return nil, nil
	}
	id, err := message.need("id")
	if err != nil {
		return nil, err
	}
	if kind := id.kind(); kind != '"' && kind != '0' {
		return nil, fault(id.start, "id must be a string or a number, not %s", id.kindName())
	}
	params, err := message.need("params")
	if err != nil {
		return nil, err
	}
	call, err := params.object("params")
	if err != nil {
		return nil, err
	}
	return one(call.proposalOrBare("arguments"))
}
