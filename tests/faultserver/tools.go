package faultserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

type result struct {
	ResultType        string          `json:"resultType,omitempty"`
	Content           any             `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitempty"`
	IsError           bool            `json:"isError,omitempty"`
}

type block struct {
	Type     string          `json:"type"`
	Text     *string         `json:"text,omitempty"`
	Data     string          `json:"data,omitempty"`
	MIMEType string          `json:"mimeType,omitempty"`
	Resource json.RawMessage `json:"resource,omitempty"`
	URI      string          `json:"uri,omitempty"`
	Name     string          `json:"name,omitempty"`
}

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func say(texts ...string) result {
	blocks := make([]block, len(texts))
	for i := range texts {
		blocks[i] = block{Type: "text", Text: &texts[i]}
	}
	return result{Content: blocks}
}

// structured is a result with its JSON in both places, as MCP recommends.
func structured(value any) result {
	data := encode(value)
	r := say(string(data))
	r.StructuredContent = data
	return r
}

// coded is the error of a server that does it right.
type coded struct {
	Code      string `json:"code"`
	Category  string `json:"category"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}

func refused(code, category, text string) result {
	r := structured(coded{code, category, text, false})
	r.IsError = true
	return r
}

// arguments is the union of what the tools take.
type arguments struct {
	Key            string  `json:"key"`
	Text           string  `json:"text"`
	IdempotencyKey string  `json:"idempotency_key"`
	Limit          *int    `json:"limit"`
	Cursor         string  `json:"cursor"`
	A              *int64  `json:"a"`
	B              *int64  `json:"b"`
	Count          int     `json:"count"`
	Bytes          int     `json:"bytes"`
	Message        string  `json:"message"`
	Code           string  `json:"code"`
	Category       string  `json:"category"`
	Retryable      bool    `json:"retryable"`
	As             string  `json:"as"`
	Milliseconds   int     `json:"ms"`
	Length         float64 `json:"length"`
	Unit           string  `json:"unit"`
	Root           node    `json:"root"`
}

type node struct {
	Name     string `json:"name"`
	Children []node `json:"children"`
}

func (n node) leaves() int {
	if len(n.Children) == 0 {
		return 1
	}
	count := 0
	for _, c := range n.Children {
		count += c.leaves()
	}
	return count
}

// run carries a tool out. It returns false where there is no such tool.
func (p *peer) run(ctx context.Context, name string, raw json.RawMessage) (result, bool) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if name == "echo" {
		return say(string(raw)), true
	}
	known := p.tools()
	at := slices.IndexFunc(known, func(d definition) bool { return d.Name == name })
	if at < 0 {
		return result{}, false
	}
	var a arguments
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if bytes.Contains(known[at].InputSchema, []byte(`"additionalProperties": false`)) {
		decoder.DisallowUnknownFields()
	}
	if err := decoder.Decode(&a); err != nil {
		return refused("invalid_arguments", "validation", strings.TrimPrefix(err.Error(), "json: ")), true
	}
	if r, known := p.server.write(ctx, name, a); known {
		return r, true
	}
	switch name {
	case "write_note", "append_note", "read_note", "delete_note", "list_notes", "snapshot":
		return p.server.notes.run(name, a), true
	case "add":
		if a.A == nil || a.B == nil {
			return refused("invalid_arguments", "validation", "a and b are required"), true
		}
		return structured(struct {
			Sum int64 `json:"sum"`
		}{*a.A + *a.B}), true
	case "echo_text":
		return say(a.Text), true
	case "blocks":
		texts := make([]string, max(a.Count, 0))
		for i := range texts {
			texts[i] = "block " + strconv.Itoa(i+1)
		}
		return say(texts...), true
	case "big":
		return say(strings.Repeat("x", max(a.Bytes, 0))), true
	case "number":
		return structured(json.RawMessage(`{"value":9007199254740993}`)), true
	case "fail":
		text := a.Message
		if text == "" {
			text = "something went wrong"
		}
		r := say(text)
		r.IsError = true
		return r, true
	case "fail_coded":
		data := encode(coded{a.Code, a.Category, a.Message, a.Retryable})
		r := say(string(data))
		switch r.IsError = true; a.As {
		case "text":
		case "nested":
			r = structured(struct {
				Error json.RawMessage `json:"error"`
			}{data})
			r.IsError = true
		default:
			r.StructuredContent = data
		}
		return r, true
	case "image":
		return result{Content: []block{{Type: "image", Data: pixel, MIMEType: "image/png"}}}, true
	case "mixed":
		text := "a text"
		return result{Content: []block{
			{Type: "text", Text: &text},
			{Type: "image", Data: pixel, MIMEType: "image/png"},
			{Type: "resource", Resource: json.RawMessage(`{"uri":"note://one","mimeType":"text/plain","text":"one"}`)},
			{Type: "resource_link", URI: "note://two", Name: "two"},
		}}, true
	case "slow":
		select {
		case <-time.After(time.Duration(a.Milliseconds) * time.Millisecond):
		case <-ctx.Done():
		}
		return say("done"), true
	case "now":
		return structured(struct {
			Now int64 `json:"now"`
		}{time.Now().UnixNano()}), true
	case "draft_seven":
		return structured(struct {
			Length float64 `json:"length"`
		}{a.Length}), true
	case "tree":
		return structured(struct {
			Leaves int `json:"leaves"`
		}{a.Root.leaves()}), true
	default:
		return say("called " + name), true
	}
}

func (n *notes) run(name string, a arguments) result {
	n.mu.Lock()
	defer n.mu.Unlock()
	if name != "list_notes" && name != "snapshot" && !noteKey.MatchString(a.Key) {
		return refused("invalid_arguments", "validation", "key: must match "+noteKey.String())
	}
	r, err := n.act(name, a)
	if err == errNoNote {
		return refused("note_not_found", "not_found", fmt.Sprintf("no note has the key %q; list_notes lists them", a.Key))
	}
	if err != nil {
		return refused("storage_failed", "internal", err.Error())
	}
	return r
}

func (n *notes) act(name string, a arguments) (result, error) {
	type written struct {
		Key     string `json:"key"`
		Created bool   `json:"created"`
		Bytes   int    `json:"bytes"`
	}
	old, err := "", error(nil)
	if name != "list_notes" && name != "snapshot" {
		if old, err = n.read(a.Key); err != nil && (err != errNoNote || name == "read_note" || name == "delete_note") {
			return result{}, err
		}
	}
	created := err != nil
	switch name {
	case "write_note":
		return structured(written{a.Key, created, len(a.Text)}), n.write(a.Key, a.Text)
	case "append_note":
		type appended struct {
			Key      string `json:"key"`
			Bytes    int    `json:"bytes"`
			Replayed bool   `json:"replayed"`
		}
		if n.used(a.IdempotencyKey) {
			return structured(appended{a.Key, len(old), true}), nil
		}
		text := old + a.Text + "\n"
		return structured(appended{a.Key, len(text), false}), n.write(a.Key, text)
	case "read_note":
		return structured(struct {
			Key  string `json:"key"`
			Text string `json:"text"`
		}{a.Key, old}), nil
	case "delete_note":
		return structured(struct {
			Key string `json:"key"`
		}{a.Key}), n.remove(a.Key)
	case "snapshot":
		return n.snapshot()
	default:
		return n.list(a)
	}
}

func (n *notes) list(a arguments) (result, error) {
	keys, err := n.keys()
	if err != nil {
		return result{}, err
	}
	limit := 10
	if a.Limit != nil {
		limit = *a.Limit
	}
	if limit < 1 || limit > 100 {
		return refused("invalid_arguments", "validation", "limit: must be from 1 to 100"), nil
	}
	all := slices.Clone(keys)
	if a.Cursor != "" {
		keys = slices.DeleteFunc(keys, func(key string) bool { return key <= a.Cursor })
	}
	page := struct {
		Items      []string `json:"items"`
		NextCursor string   `json:"next_cursor,omitempty"`
	}{Items: append([]string{}, keys[:min(limit, len(keys))]...)}
	if len(keys) > limit {
		page.NextCursor = keys[limit-1]
	}
	switch at := slices.Index(all, page.NextCursor); {
	case n.pages == "page-repeats" && at > 0:
		page.NextCursor = all[at-1]
	case n.pages == "page-misses" && at >= 0:
		page.NextCursor = all[min(at+1, len(all)-1)]
	case n.pages == "page-endless" && page.NextCursor == "" && len(all) > 0:
		page.NextCursor = all[0]
	case n.pages == "limit-ignored":
		page.Items, page.NextCursor = append([]string{}, keys...), ""
	}
	return structured(page), nil
}

func (n *notes) snapshot() (result, error) {
	keys, err := n.keys()
	if err != nil {
		return result{}, err
	}
	texts := make(map[string]string)
	for _, key := range keys {
		if texts[key], err = n.read(key); err != nil {
			return result{}, err
		}
	}
	return structured(struct {
		Notes map[string]string `json:"notes"`
	}{texts}), nil
}
