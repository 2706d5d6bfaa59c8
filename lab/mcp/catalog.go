package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentlab/lab/tool"
)

// entry is a tool as a server lists it.
type entry struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
}

// Tools lists the tools of the server, every page of them, in the server's
// order, and remembers their output schemas. Every error is a
// [*tool.Unavailable], or that of ctx.
func (c *Client) Tools(ctx context.Context) ([]tool.Definition, error) {
	unusable := func(reason, detail string) error {
		return c.withWords(&tool.Unavailable{Surface: c.server.Name, Reason: reason, Detail: detail})
	}
	var all []tool.Definition
	names := make(map[string]bool)
	cursors := make(map[string]bool)
	total := 0
	for cursor, page := "", 1; ; page++ {
		raw, fault, err := c.call(ctx, "tools/list", func(ctx context.Context) error {
			_, err := c.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
			return err
		})
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			return nil, unusable(fmt.Sprintf("the server did not answer tools/list within %s", c.server.Timeout), "")
		case err != nil:
			return nil, err
		case fault != nil && page == 1 && fault.Code == -32601:
			// A server without tools need not know the question.
			return nil, nil
		case fault != nil:
			return nil, unusable("the server refused to list its tools", fault.Message)
		}
		var result struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor *string           `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &result); err != nil {
			return nil, unusable("the server's list of tools is not one", err.Error())
		}
		if total += len(raw); total > listed*c.server.MaxMessage || len(all)+len(result.Tools) > maxTools {
			return nil, unusable("the server lists too many tools", fmt.Sprintf("more than %d, or than %s", maxTools, size(listed*c.server.MaxMessage)))
		}
		for _, document := range result.Tools {
			definition, err := c.definition(document)
			if err != nil {
				return nil, unusable("the server's list of tools is not one", err.Error())
			}
			if names[definition.Name] {
				c.server.notice("names", fmt.Sprintf("%s breaks the protocol: it lists two tools of the name %q; the first is taken", c.server.Name, definition.Name))
				continue
			}
			names[definition.Name] = true
			all = append(all, definition)
		}
		if result.NextCursor == nil || *result.NextCursor == "" {
			break
		}
		cursor = *result.NextCursor
		if cursors[cursor] || page == maxPages {
			return nil, unusable("the server pages for ever: tools/list does not come to an end", "")
		}
		cursors[cursor] = true
	}
	c.expect(all)
	return all, nil
}

// definition reads one entry of the list. A hint that is absent stays absent.
func (c *Client) definition(document json.RawMessage) (tool.Definition, error) {
	var t entry
	if err := json.Unmarshal(document, &t); err != nil {
		return tool.Definition{}, err
	}
	if t.Name == "" {
		return tool.Definition{}, errors.New("a tool has no name")
	}
	input := present(t.InputSchema)
	if input == nil || input[0] != '{' {
		c.server.notice("input", fmt.Sprintf("%s breaks the protocol: its tool %q has no inputSchema that is an object", c.server.Name, t.Name))
		input = json.RawMessage("{}")
	}
	return tool.Definition{
		Name:         t.Name,
		Description:  t.Description,
		InputSchema:  input,
		OutputSchema: present(t.OutputSchema),
		Annotations:  present(t.Annotations),
	}, nil
}

// present is a raw member, or nil where it is absent or null.
func present(value json.RawMessage) json.RawMessage {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || string(value) == "null" {
		return nil
	}
	return value
}
