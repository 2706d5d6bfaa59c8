package suite

import (
	"fmt"
	"strings"
)

// clientServer is a server as the file of a client has it.
type clientServer struct {
	Server
	program string
	args    []string
	kind    string
}

var clientFields = table[map[string]place]{
	{"mcpServers", true, func(r *reader, p place, servers *map[string]place) {
		members, _ := r.members(p)
		for _, m := range members {
			(*servers)[m.name] = m.value
		}
	}},
}

var clientServerFields = table[clientServer]{
	{"command", false, func(r *reader, p place, s *clientServer) { s.program = r.program(p) }},
	{"args", false, func(r *reader, p place, s *clientServer) { s.args = r.args(p) }},
	{"env", false, func(r *reader, p place, s *clientServer) { s.Env = r.environment(p) }},
	{"url", false, func(r *reader, p place, s *clientServer) { s.URL = r.url(p) }},
	{"headers", false, func(r *reader, p place, s *clientServer) { s.Headers = r.headers(p) }},
	{"type", false, func(r *reader, p place, s *clientServer) { s.kind = r.transport(p) }},
}

// ReadClientConfig reads one server of the configuration of an MCP client, in
// JSON or YAML: {"mcpServers": {NAME: {"command", "args", "env"} or {"url",
// "headers"}}}. Such a file is not the lab's: keys that it does not know and
// keys that are null are passed over, and so are the other servers. Variables are
// expanded as in a suite file. The error is an [*Invalid], or that of a file that
// cannot be read.
func ReadClientConfig(path, server string, env func(string) (string, bool)) (Server, error) {
	text, err := readFile(path)
	if err != nil {
		return Server{}, fmt.Errorf("read the client configuration: %w", err)
	}
	r := &reader{file: path, env: env, foreign: true}
	s := r.clientConfig(text, server)
	if err := r.invalid(); err != nil {
		return Server{}, err
	}
	return s, nil
}

func (r *reader) clientConfig(text []byte, server string) Server {
	root, ok := r.document(text)
	if !ok {
		return Server{}
	}
	servers := make(map[string]place)
	seen, ok := object(r, root, clientFields, &servers)
	if !ok || len(r.faults) > 0 {
		return Server{}
	}
	p, found := servers[server]
	if !found {
		at, given := seen["mcpServers"]
		switch {
		case !given:
			r.fault(root.member("mcpServers"), "must be a mapping, not null")
		case len(servers) == 0:
			r.fault(at, "names no server")
		default:
			var names []string
			for name := range servers {
				names = append(names, name)
			}
			r.fault(at, "has no server "+plainName(server)+"; the servers are "+listed(names))
		}
		return Server{}
	}
	var s clientServer
	given, ok := object(r, p, clientServerFields, &s)
	if !ok || s.kind == unknownTransport {
		return Server{}
	}
	r.reached(p, given)
	if args, has := given["args"]; has && s.program == "" {
		if _, command := given["command"]; !command {
			r.fault(args, "may only stand beside command")
		}
	}
	r.fits(given, s.kind)
	if s.program != "" {
		s.Command = append([]string{s.program}, s.args...)
	}
	return s.Server
}

const unknownTransport = "unknown"

// transports are the values of type, and the key that each goes with.
var transports = []struct{ name, key string }{
	{"stdio", "command"},
	{"http", "url"},
	{"streamable-http", "url"},
	{"streamableHttp", "url"},
}

// transport reads the type of a server.
func (r *reader) transport(p place) string {
	text, ok := r.text(p, withoutSandbox)
	if !ok {
		return unknownTransport
	}
	var names []string
	for _, t := range transports {
		if t.name == text {
			return text
		}
		names = append(names, t.name)
	}
	if text == "sse" {
		r.fault(p, "the old transport sse is not spoken; most servers that have it also speak streamable-http, often at /mcp")
	} else {
		r.fault(p, "must be one of "+strings.Join(names, ", "))
	}
	return unknownTransport
}

// fits checks that the type of a server is that of how it is reached.
func (r *reader) fits(given map[string]place, kind string) {
	for _, t := range transports {
		if _, has := given[t.key]; t.name == kind && !has {
			r.fault(given["type"], fmt.Sprintf("%s goes with a %s, which is missing", kind, t.key))
		}
	}
}

// program reads the one word that a client starts.
func (r *reader) program(p place) string {
	text, ok := r.text(p, withSandbox)
	if ok && text == "" {
		r.fault(p, "must name a program, not be an empty string")
	}
	return text
}

func (r *reader) args(p place) []string {
	items, _ := r.items(p, "a list of strings")
	var args []string
	for _, item := range items {
		text, _ := r.text(item, withSandbox)
		args = append(args, text)
	}
	return args
}
