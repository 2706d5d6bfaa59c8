package faultserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"
)

// megabyte is the unit of what floods.
const megabyte = 1 << 20

// call is tools/call: what happens before the tool is carried out, that, and
// what is done to its answer.
func (p *peer) call(ctx context.Context, in incoming, m meta, modern bool, out outlet) {
	s, n := p.server, in.number
	var params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(in.Params, &params); err != nil {
		out.answer(encode(failure(in.ID, codeInvalidParams, "Invalid params")))
		return
	}
	exit, exits := s.fault("exit-at-call", n)
	when, lastWords, _ := strings.Cut(exit.Arg, ":")
	if exits && when != "after" {
		out.die(7, cmp.Or(lastWords, "panic: out of memory"))
		return
	}
	hang, hangs := s.fault("hang", n)
	if hangs && hang.Arg != "after" {
		<-ctx.Done()
		return
	}
	if s.has("close-stdout", n) {
		out.close()
	}
	if f, on := s.fault("rpc-error", n); on {
		out.answer(encode(failure(in.ID, f.number(codeInternal), "something broke inside the server")))
		return
	}
	if !p.before(ctx, n, m, out) {
		return
	}

	r, known := p.run(ctx, params.Name, params.Arguments)
	if !known {
		out.answer(encode(failure(in.ID, codeInvalidParams, "Unknown tool: "+params.Name)))
		return
	}
	if s.has("write-twice", n) {
		p.again(ctx, params.Name, params.Arguments)
	}
	if f, on := s.fault("ask", n); on {
		method := f.text("ping")
		said := p.ask(ctx, method, out)
		if said == nil {
			return
		}
		r = say("the client answered " + method + " with " + string(said))
	}
	if exits {
		out.die(7, cmp.Or(lastWords, "panic: out of memory"))
		return
	}
	if hangs {
		<-ctx.Done()
		return
	}
	if f, on := s.fault("late", n); on {
		time.Sleep(f.wait(500))
	} else if ctx.Err() != nil {
		return // who cancelled a call wants no answer
	}
	if modern {
		r.ResultType = "complete"
	}
	p.respond(ctx, in, r, out)
}

// before is what a server does between a call and its answer. It returns false
// where nobody listens any more.
func (p *peer) before(ctx context.Context, n int, m meta, out outlet) bool {
	s := p.server
	if f, on := s.fault("text-at-call", n); on {
		out.raw([]byte(f.text("Handling a call...") + "\n"))
	}
	if f, on := s.fault("flood-stderr", n); on && f.Call > 0 {
		flood(ctx, f.number(1), []byte(strings.Repeat("e", 79)+"\n"), out.complain)
	}
	if f, on := s.fault("flood-progress", n); on {
		token := m.Meta.ProgressToken
		if len(token) == 0 {
			token = json.RawMessage(`"nobody-asked"`)
		}
		if !flood(ctx, f.number(1), notification("notifications/progress", struct {
			Token    json.RawMessage `json:"progressToken"`
			Progress int             `json:"progress"`
		}{token, 1}), out.notify) {
			return false
		}
	}
	if f, on := s.fault("flood-log", n); on {
		if !flood(ctx, f.number(1), logLine(), out.notify) {
			return false
		}
	}
	if s.has("list-changed", n) {
		p.mu.Lock()
		p.grown = true
		p.mu.Unlock()
		out.notify(notification("notifications/tools/list_changed", nil))
	}
	return true
}

func logLine() []byte {
	return notification("notifications/message", struct {
		Level string `json:"level"`
		Data  string `json:"data"`
	}{"info", strings.Repeat("l", 1000)})
}

// flood writes one thing until so many megabytes are written; 0: for ever.
func flood(ctx context.Context, megabytes int, thing []byte, write func([]byte) bool) bool {
	for sent := 0; megabytes == 0 || sent < megabytes*megabyte; sent += len(thing) {
		if ctx.Err() != nil || !write(thing) {
			return false
		}
	}
	return true
}

// again carries a call out once more, so that it shows: a note that is written
// is written under a second key too.
func (p *peer) again(ctx context.Context, name string, raw json.RawMessage) {
	if name == "write_note" {
		var a arguments
		if json.Unmarshal(raw, &a) != nil {
			return
		}
		a.Key += "-again"
		p.server.notes.run(name, a)
		return
	}
	p.run(ctx, name, raw)
}

// respond sends a result, in whatever shape the faults give it.
func (p *peer) respond(ctx context.Context, in incoming, r result, out outlet) {
	s, n := p.server, in.number
	a := answer{Version: "2.0", ID: in.ID}
	p.bend(n, &r)
	a.Result = r
	if s.has("null-result", n) {
		a.Result = json.RawMessage("null")
	}
	if s.has("empty-result", n) {
		a.Result = struct{}{}
	}
	if s.has("no-jsonrpc", n) {
		a.Version = ""
	}
	if s.has("result-and-error", n) {
		a.Error = &rpcError{Code: codeInternal, Message: "and yet it failed"}
	}
	if s.has("wrong-id", n) {
		a.ID = json.RawMessage("987654321")
	}
	if s.has("string-id", n) {
		a.ID = encode(strings.Trim(string(in.ID), `"`))
	}
	data := encode(a)
	if f, on := s.fault("deep", n); on {
		depth := f.number(100000)
		data = bytes.Replace(data, deepMark, []byte(strings.Repeat(`{"d":`, depth)+"0"+strings.Repeat("}", depth)), 1)
	}
	if s.has("bad-utf8", n) {
		data = encode(answer{Version: "2.0", ID: in.ID, Result: say("BAD")})
		data = bytes.Replace(data, []byte("BAD"), []byte("\xff\xfe\xc0"), 1)
	}
	switch f, split := s.fault("split", n); {
	case s.has("garble", n):
		out.raw([]byte(`{"jsonrpc":"2.0","id":` + string(in.ID) + `,"result":{"content":[{"type":"te` + "\n"))
	case s.has("endless", n):
		if out.raw([]byte(`{"jsonrpc":"2.0","id":` + string(in.ID) + `,"result":{"content":[{"type":"text","text":"`)) {
			flood(ctx, 0, bytes.Repeat([]byte("x"), 1<<16), out.raw)
		}
	case s.has("batch", n):
		out.answer([]byte("[" + string(data) + "]"))
	case s.has("pretty", n):
		var b bytes.Buffer
		_ = json.Indent(&b, data, "", "  ") // it was just encoded
		out.answer(b.Bytes())
	case split:
		out.raw(data[:len(data)/2])
		time.Sleep(f.wait(100))
		out.raw(append(data[len(data)/2:], '\n'))
	case s.has("duplicate", n):
		out.answer(data)
		out.answer(data)
	default:
		out.answer(data)
	}
}

// deepMark stands for what encoding/json would not write.
var deepMark = json.RawMessage(`"deep"`)

// bend makes a result wrong.
func (p *peer) bend(n int, r *result) {
	s := p.server
	if s.has("break-output-schema", n) && bytes.Contains(r.StructuredContent, []byte(`"sum"`)) {
		*r = structured(json.RawMessage(`{"sum":"five","extra":true}`))
	}
	if s.has("no-output", n) {
		r.StructuredContent = nil
	}
	if f, on := s.fault("error-text", n); on {
		*r = say(f.Arg)
		r.IsError = true
	}
	if s.has("error-with-output", n) {
		r.IsError = true
	}
	if s.has("wrong-content", n) {
		r.Content = "just a string"
	}
	if s.has("unknown-block", n) {
		r.Content = []block{{Type: "hologram", Data: "AAAA"}}
	}
	if s.has("escape-codes", n) {
		r.Content = say("\x1b[2J\x1b]0;owned\x07\u202e|[x](http://evil.invalid)<script>").Content
	}
	if s.has("deep", n) {
		r.StructuredContent = deepMark
	}
	if s.has("duplicate-keys", n) {
		r.StructuredContent = json.RawMessage(`{"k":1,"k":2}`)
	}
	if f, on := s.fault("huge", n); on {
		*r = say(strings.Repeat("h", f.number(17)*megabyte))
	}
}
