package faultserver

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

//go:embed tools.json
var toolsJSON []byte

type definition struct {
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
}

type listing struct {
	ResultType string       `json:"resultType,omitempty"`
	TTL        *int         `json:"ttlMs,omitempty"`
	Scope      string       `json:"cacheScope,omitempty"`
	Tools      []definition `json:"tools"`
	NextCursor string       `json:"nextCursor,omitempty"`
}

func shipped() []definition {
	var tools []definition
	if err := json.Unmarshal(toolsJSON, &tools); err != nil {
		panic(err) // it is compiled in
	}
	return tools
}

// tools are the definitions that this server lists, faults and all.
func (p *peer) tools() []definition {
	s := p.server
	object := json.RawMessage(`{"type":"object"}`)
	tools := shipped()
	for _, extra := range []definition{
		{Name: "bad_schema", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"text"},"b":{"pattern":"("}}}`)},
		{Name: "bad_output_schema", InputSchema: object, OutputSchema: json.RawMessage(`{"type":"objekt"}`)},
		{Name: "remote_ref", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:1/schema.json"}}}`)},
		{Name: "no_schema"},
		{Name: "duplicate_tools", InputSchema: object},
	} {
		fault := map[string]string{"bad_schema": "bad-schema", "bad_output_schema": "bad-output-schema",
			"remote_ref": "remote-ref", "no_schema": "no-schema", "duplicate_tools": "duplicate-tools"}[extra.Name]
		if !s.has(fault, 0) {
			continue
		}
		if fault == "duplicate-tools" {
			extra.Name, extra.Description = "write_note", "Writes another note."
		}
		tools = append(tools, extra)
	}
	if f, on := s.fault("many-tools", 0); on {
		for i := range f.number(10000) {
			tools = append(tools, definition{Name: fmt.Sprintf("tool_%05d", i), Description: "One of many.", InputSchema: object})
		}
	}
	if s.has("lie", 0) {
		for i := range tools {
			if slices.Contains([]string{"write_note", "append_note", "delete_note"}, tools[i].Name) {
				tools[i].Annotations = json.RawMessage(`{"readOnlyHint":true,"destructiveHint":false}`)
			}
		}
	}
	for _, w := range writers {
		if s.has(w.fault, 0) {
			tools = append(tools, w.definition)
		}
	}
	tools = s.retold(tools)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.grown {
		tools = append(tools, definition{Name: "latecomer", Description: "Was not there at first.", InputSchema: object})
	}
	return tools
}

func (p *peer) list(ctx context.Context, in incoming, modern bool, out outlet) {
	s := p.server
	if s.has("list-hang", 0) {
		<-ctx.Done()
		return
	}
	if s.has("list-error", 0) || s.has("no-tools", 0) {
		out.answer(encode(failure(in.ID, codeMethodNotFound, "Method not found")))
		return
	}
	if s.has("null-tools", 0) {
		out.answer(encode(answer{Version: "2.0", ID: in.ID, Result: listing{}}))
		return
	}
	var params struct {
		Cursor string `json:"cursor"`
	}
	_ = json.Unmarshal(in.Params, &params) // none: the first page
	page := listing{Tools: p.tools()}
	if modern {
		page.ResultType, page.TTL, page.Scope = "complete", new(int), "private"
	}
	at, err := strconv.Atoi(params.Cursor)
	if params.Cursor != "" && err != nil {
		out.answer(encode(failure(in.ID, codeInvalidParams, "Invalid cursor")))
		return
	}
	if s.has("repeat-cursor", 0) {
		page.NextCursor = "1"
	} else if s.has("new-cursors", 0) {
		page.NextCursor = strconv.Itoa(at + 1)
	} else if f, on := s.fault("pages", 0); on {
		pages := max(f.number(3), 1)
		size := (len(page.Tools) + pages - 1) / pages
		from, to := min(at*size, len(page.Tools)), min((at+1)*size, len(page.Tools))
		if page.Tools = page.Tools[from:to]; at+1 < pages {
			page.NextCursor = strconv.Itoa(at + 1)
		}
	}
	out.answer(encode(answer{Version: "2.0", ID: in.ID, Result: page}))
}
