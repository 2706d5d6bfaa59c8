package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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

// Names are taken as they are spelt, and a fault within one schema is no fault of
// the list.
var lenient = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

const endless = "the server pages for ever: tools/list does not come to an end"

// Tools lists the tools of the server, every page of them, in the server's
// order, and remembers their output schemas. As in answers, what differs from run to
// run, or only the server is to see, is not in them. Every error is a
// [*tool.Unavailable], or that of ctx.
func (c *Client) Tools(ctx context.Context) ([]tool.Definition, error) {
	select {
	case c.listing <- struct{}{}:
		defer func() { <-c.listing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	limited, cancel := context.WithTimeout(ctx, listedTime*c.server.Timeout)
	defer cancel()
	unusable := func(reason, detail string) error {
		return c.withWords(&tool.Unavailable{Surface: c.server.Name, Reason: reason, Detail: detail})
	}
	var all []tool.Definition
	names := make(map[string]bool)
	cursors := make(map[string]bool)
	pages := make(map[string]json.RawMessage)
	total, barren := 0, 0
	for cursor, page := "", 1; ; page++ {
		got, err := c.call(limited, "tools/list", func(ctx context.Context) error {
			_, err := c.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
			return err
		})
		raw, fault := got.result, got.fault
		if remembered, ok := c.pages[cursor]; ok && err == errRemembered {
			raw, err = remembered, nil
		}
		switch {
		case err != nil && ctx.Err() == nil && limited.Err() != nil:
			return nil, unusable(endless, "")
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			return nil, unusable(fmt.Sprintf("the server did not answer tools/list within %s", c.server.Timeout), "")
		case err == errRemembered:
			return nil, unusable("the server's list of tools is not one", err.Error())
		case err != nil:
			return nil, err
		case fault != nil && page == 1 && fault.Code == -32601:
			// A server without tools need not know the question.
			return nil, nil
		case fault != nil:
			return nil, unusable("the server refused to list its tools", c.server.excerpt([]byte(fault.Message)))
		}
		var result struct {
			Tools      json.RawMessage `json:"tools"`
			NextCursor *string         `json:"nextCursor"`
			TTL        float64         `json:"ttlMs"`
		}
		if err := jsonv2.Unmarshal(raw, &result, lenient); err != nil {
			return nil, unusable("the server's list of tools is not one", err.Error())
		}
		var listed []json.RawMessage
		switch {
		case result.Tools == nil:
			return nil, unusable("the server's list of tools is not one", "it has no member tools")
		case present(result.Tools) == nil:
			c.server.notice("null", c.server.Name+" breaks the protocol: its list of tools is null, which is taken for an empty one")
		default:
			if err := jsonv2.Unmarshal(result.Tools, &listed, lenient); err != nil {
				return nil, unusable("the server's list of tools is not one", err.Error())
			}
		}
		if result.TTL > 0 {
			// The SDK answers from memory for so long, and from its own reading.
			pages[cursor] = raw
		}
		if total += len(raw); total > listedSize*c.server.MaxMessage || len(all)+len(listed) > maxTools {
			return nil, unusable("the server lists too many tools", fmt.Sprintf("more than %d, or than %s", maxTools, size(listedSize*c.server.MaxMessage)))
		}
		barren++
		for _, document := range listed {
			definition, err := c.definition(c.shown(document))
			if err != nil {
				return nil, unusable("the server's list of tools is not one", err.Error())
			}
			if names[definition.Name] {
				c.server.notice("names", fmt.Sprintf("%s breaks the protocol: it lists two tools of the name %q; the first is taken", c.server.Name, definition.Name))
				continue
			}
			names[definition.Name] = true
			barren = 0
			all = append(all, definition)
		}
		if result.NextCursor == nil || *result.NextCursor == "" {
			break
		}
		cursor = *result.NextCursor
		if cursors[cursor] || page == maxPages || barren == maxBarren {
			return nil, unusable(endless, "")
		}
		cursors[cursor] = true
	}
	c.pages = pages
	c.expect(all)
	return all, nil
}

// definition reads one entry of the list. A hint that is absent stays absent.
func (c *Client) definition(document json.RawMessage) (tool.Definition, error) {
	var t entry
	if err := jsonv2.Unmarshal(document, &t, lenient); err != nil {
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
