package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"agentlab/lab/tool"
)

// Reasons why a document is no message.
var (
	errNotJSON    = errors.New("the server answered with invalid JSON")
	errTooDeep    = errors.New("the server answered with JSON that is nested too deeply")
	errNoMessage  = errors.New("the server answered with something that is no JSON-RPC message")
	errManyInside = errors.New("the server floods: a batch of too many messages")
)

// decodeMessage reads one message. The SDK alone would take the first value of
// several, and refuse the error of a server that could not read the id.
func decodeMessage(document []byte) (jsonrpc.Message, error) {
	if !json.Valid(document) {
		if fault := new(json.SyntaxError); errors.As(json.Unmarshal(document, new(json.RawMessage)), &fault) &&
			strings.Contains(fault.Error(), "max depth") {
			return nil, errTooDeep
		}
		return nil, errNotJSON
	}
	message, err := jsonrpc.DecodeMessage(document)
	if err == nil {
		return message, nil
	}
	if strings.Contains(err.Error(), "nesting depth") {
		return nil, errTooDeep
	}
	var nameless struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  json.RawMessage `json:"method"`
		Error   *jsonrpc.Error  `json:"error"`
	}
	if json.Unmarshal(document, &nameless) == nil && nameless.Version == "2.0" && nameless.Error != nil &&
		present(nameless.ID) == nil && nameless.Method == nil {
		return &jsonrpc.Response{Error: nameless.Error}, nil
	}
	return nil, errNoMessage
}

// decodeAnswer reads the answer to a request.
func decodeAnswer(document []byte) (*jsonrpc.Response, error) {
	message, err := decodeMessage(document)
	if err != nil {
		return nil, err
	}
	answer, ok := message.(*jsonrpc.Response)
	if !ok {
		return nil, errNoMessage
	}
	return answer, nil
}

// maxBatch is how many messages one batch may hold.
const maxBatch = 1000

// batch cuts an array into its elements.
func batch(line []byte) ([][]byte, error) {
	in := json.NewDecoder(bytes.NewReader(line))
	if _, err := in.Token(); err != nil {
		return nil, err
	}
	var documents [][]byte
	for in.More() {
		if len(documents) == maxBatch {
			return nil, errManyInside
		}
		var document json.RawMessage
		if err := in.Decode(&document); err != nil {
			return nil, err
		}
		documents = append(documents, document)
	}
	if _, err := in.Token(); err != nil {
		return nil, err
	}
	if _, err := in.Token(); err != io.EOF {
		return nil, errNotJSON
	}
	return documents, nil
}

// likeMessage reports whether an object was meant to be a message.
func likeMessage(document []byte) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(document, &members) != nil {
		return false
	}
	_, versioned := members["jsonrpc"]
	_, named := members["id"]
	_, result := members["result"]
	_, failed := members["error"]
	return versioned || named && (result || failed)
}

// present is a raw member, or nil where it is absent or null.
func present(value json.RawMessage) json.RawMessage {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || string(value) == "null" {
		return nil
	}
	return value
}

// brief is the result of a call as the SDK is told it: it is not to decode what
// is read here from the wire.
var brief = json.RawMessage(`{"resultType":"complete","content":[]}`)

func unknownMethod() *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no answer in time"}
}

// maxExcerpt is how many bytes are shown of what a server sent.
const maxExcerpt = 200

// excerpt is the beginning of what a server sent, without what this side keeps
// to itself.
func (s *Server) excerpt(text []byte) string {
	return tool.Cut(s.scrub(string(text[:min(len(text), 32*maxExcerpt)])), maxExcerpt)
}
