package faultserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// message is any JSON-RPC message that a client may send.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// meta is what a request of 2026-07-28 says of itself.
type meta struct {
	Meta struct {
		ProtocolVersion string          `json:"io.modelcontextprotocol/protocolVersion"`
		ProgressToken   json.RawMessage `json:"progressToken"`
	} `json:"_meta"`
}

// answer is any message that the server sends; its order of members is fixed.
type answer struct {
	Version string          `json:"jsonrpc,omitempty"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

const (
	codeParse          = -32700
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeUnsupported    = -32022 // SEP-2575: unsupported protocol version
)

const modernVersion = "2026-07-28"

// legacy are the versions of the initialize handshake, newest first.
var legacy = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// outlet is the way to a client: the stdout of a process, or an HTTP response.
type outlet interface {
	// notify sends a message that answers nothing; false: nobody listens any more.
	notify(data []byte) bool
	// answer sends a message that answers the request of this way.
	answer(data []byte)
	// raw sends bytes as they are, in place of an answer; false as for notify.
	raw(data []byte) bool
	// close ends what the client can read, and nothing else.
	close()
	// die is the sudden end of the server.
	die(code int, lastWords string)
	// complain writes to where a server complains.
	complain(data []byte) bool
}

// peer is one connection of a client.
type peer struct {
	server *Server
	gone   context.CancelFunc // over HTTP: ends what listens to the session

	mu      sync.Mutex
	running map[string]context.CancelFunc // calls under way, by id
	asked   map[string]chan json.RawMessage
	asks    int
	grown   bool // a tool more is listed
}

func newPeer(s *Server) *peer {
	return &peer{server: s, gone: func() {}, running: make(map[string]context.CancelFunc), asked: make(map[string]chan json.RawMessage)}
}

// incoming is a message and, where it is a call, which one.
type incoming struct {
	message
	number int
	parsed bool
}

func (s *Server) read(data []byte) incoming {
	var in incoming
	if json.Unmarshal(data, &in.message) != nil {
		return in
	}
	in.parsed = true
	if in.Method == "tools/call" {
		in.number = int(s.calls.Add(1))
	}
	return in
}

// take begins with one message, and returns what is left to do, which may last
// for ever: nil where there is nothing.
func (p *peer) take(ctx context.Context, in incoming, out outlet) func() {
	switch {
	case !in.parsed:
		out.answer(encode(answer{Version: "2.0", ID: json.RawMessage("null"), Error: &rpcError{Code: codeParse, Message: "not JSON"}}))
		return nil
	case in.Method == "":
		p.answered(in.message)
		return nil
	case len(in.ID) == 0:
		p.notified(in.message)
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	p.mu.Lock()
	p.running[string(in.ID)] = cancel
	p.mu.Unlock()
	return func() {
		defer func() {
			cancel()
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.running, string(in.ID))
		}()
		p.request(ctx, in, out)
	}
}

func (p *peer) notified(m message) {
	if m.Method != "notifications/cancelled" {
		return
	}
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &params) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if cancel := p.running[string(params.RequestID)]; cancel != nil {
		cancel()
	}
}

func (p *peer) request(ctx context.Context, in incoming, out outlet) {
	s := p.server
	var m meta
	_ = json.Unmarshal(in.Params, &m) // not there: an older client
	modern := m.Meta.ProtocolVersion >= modernVersion
	reply := func(result any) { out.answer(encode(answer{Version: "2.0", ID: in.ID, Result: result})) }
	refuse := func(code int, text string) { out.answer(encode(failure(in.ID, code, text))) }
	switch in.Method {
	case "ping":
		reply(struct{}{})
	case "initialize":
		p.initialize(ctx, in, out)
	case "server/discover":
		switch {
		case s.has("ignore-discover", 0):
			<-ctx.Done()
		case !s.has("modern", 0):
			refuse(codeMethodNotFound, "Method not found")
		default:
			reply(discovery{"complete", 0, "private", []string{modernVersion}, s.capabilities(),
				map[string]implementation{"io.modelcontextprotocol/serverInfo": self}})
		}
	case "subscriptions/listen":
		type listening struct {
			Meta          map[string]json.RawMessage `json:"_meta"`
			Notifications *struct {
				Tools bool `json:"toolsListChanged,omitempty"`
			} `json:"notifications,omitempty"`
		}
		var about listening
		_ = json.Unmarshal(in.Params, &about) // none: nothing is listened to
		about.Meta = map[string]json.RawMessage{"io.modelcontextprotocol/subscriptionId": in.ID}
		out.notify(encode(answer{Version: "2.0", Method: "notifications/subscriptions/acknowledged", Params: about}))
		<-ctx.Done()
	case "tools/list":
		p.list(ctx, in, modern, out)
	case "tools/call":
		p.call(ctx, in, m, modern, out)
	default:
		refuse(codeMethodNotFound, "Method not found")
	}
}

type implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

var self = implementation{"faultserver", "1.0.0"}

type capabilities struct {
	Tools   *toolCapability `json:"tools,omitempty"`
	Logging *struct{}       `json:"logging,omitempty"`
}

type toolCapability struct {
	ListChanged bool `json:"listChanged,omitempty"`
}

type discovery struct {
	ResultType        string                    `json:"resultType"`
	TTL               int                       `json:"ttlMs"`
	Scope             string                    `json:"cacheScope"`
	SupportedVersions []string                  `json:"supportedVersions"`
	Capabilities      capabilities              `json:"capabilities"`
	Meta              map[string]implementation `json:"_meta"`
}

func (s *Server) capabilities() capabilities {
	if s.has("no-tools", 0) {
		return capabilities{Logging: &struct{}{}}
	}
	changes := slices.ContainsFunc(s.options.Faults, func(f Fault) bool {
		return f.Name == "list-changed" || f.Name == "get-list-changed"
	})
	return capabilities{Tools: &toolCapability{changes}, Logging: &struct{}{}}
}

func (p *peer) initialize(ctx context.Context, in incoming, out outlet) {
	s := p.server
	if f, on := s.fault("exit-at-initialize", 0); on {
		out.die(7, f.text("cannot initialize: no license"))
		return
	}
	if s.has("never-initialize", 0) {
		<-ctx.Done()
		return
	}
	if s.has("initialize-error", 0) {
		out.answer(encode(failure(in.ID, codeInternal, "the database is locked")))
		return
	}
	if f, on := s.fault("modern", 0); on && f.Arg == "only" {
		refused := failure(in.ID, codeUnsupported, "Unsupported protocol version")
		refused.Error.Data = struct {
			Supported []string `json:"supported"`
		}{[]string{modernVersion}}
		out.answer(encode(refused))
		return
	}
	var asked struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if json.Unmarshal(in.Params, &asked) != nil {
		out.answer(encode(failure(in.ID, codeInvalidParams, "initialize without parameters")))
		return
	}
	version := legacy[0]
	if slices.Contains(legacy, asked.ProtocolVersion) {
		version = asked.ProtocolVersion
	}
	if f, on := s.fault("protocol-version", 0); on {
		version = f.text("1999-12-31")
	}
	out.answer(encode(answer{Version: "2.0", ID: in.ID, Result: struct {
		ProtocolVersion string         `json:"protocolVersion"`
		Capabilities    capabilities   `json:"capabilities"`
		ServerInfo      implementation `json:"serverInfo"`
	}{version, s.capabilities(), self}}))
}

// ask sends a request to the client and waits for what it answers: the result
// or the error, as JSON; nil when nobody will answer any more.
func (p *peer) ask(ctx context.Context, method string, out outlet) json.RawMessage {
	p.mu.Lock()
	p.asks++
	id, _ := json.Marshal(fmt.Sprintf("ask-%d", p.asks))
	answered := make(chan json.RawMessage, 1)
	p.asked[string(id)] = answered
	p.mu.Unlock()
	var params any
	if method == "sampling/createMessage" {
		params = json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"Who are you?"}}],"maxTokens":10}`)
	} else if method == "elicitation/create" {
		params = json.RawMessage(`{"message":"Your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`)
	}
	out.notify(encode(answer{Version: "2.0", ID: id, Method: method, Params: params}))
	select {
	case said := <-answered:
		return said
	case <-ctx.Done():
		return nil
	}
}

func (p *peer) answered(m message) {
	p.mu.Lock()
	waiting := p.asked[string(m.ID)]
	delete(p.asked, string(m.ID))
	p.mu.Unlock()
	if waiting != nil {
		waiting <- json.RawMessage(cmp.Or(string(m.Error), string(m.Result), "null"))
	}
}

func failure(id json.RawMessage, code int, text string) answer {
	return answer{Version: "2.0", ID: id, Error: &rpcError{Code: code, Message: text}}
}

func notification(method string, params any) []byte {
	return encode(answer{Version: "2.0", Method: method, Params: params})
}

// encode writes compact JSON and leaves <, > and & as they are.
func encode(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic(err) // every value is made here
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
