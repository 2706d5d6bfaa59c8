package suite

import (
	"fmt"
	"strings"

	"agentlab/lab/yamlfile"
)

// clientServer is a server as the file of a client has it.
type clientServer struct {
	Server
	program string
	args    []string
	kind    string
}

var clientFields = table[map[string]place]{
	yamlfile.Required("mcpServers", func(r *reader, p place, servers *map[string]place) {
		members, _ := r.Members(p)
		for _, m := range members {
			(*servers)[m.Name] = m.Value
		}
	}),
}

var clientServerFields = table[clientServer]{
	yamlfile.Optional("command", func(r *reader, p place, s *clientServer) { s.program = r.program(p) }),
	yamlfile.Optional("args", func(r *reader, p place, s *clientServer) { s.args = r.args(p) }),
	yamlfile.Optional("env", func(r *reader, p place, s *clientServer) { s.Env = r.environment(p) }),
	yamlfile.Optional("url", func(r *reader, p place, s *clientServer) { s.URL = r.url(p) }),
	yamlfile.Optional("headers", func(r *reader, p place, s *clientServer) { s.Headers = r.headers(p) }),
	yamlfile.Optional("type", func(r *reader, p place, s *clientServer) { s.kind = r.transport(p) }),
}

// ReadClientConfig reads one server of the configuration of an MCP client, in
// JSON or YAML: {"mcpServers": {NAME: {"command", "args", "env"} or {"url",
// "headers"}}}. Such a file is not the lab's: keys that it does not know and
// keys that are null are passed over, and so are the other servers. Variables are
// expanded as in a suite file. The error is an [*yamlfile.Invalid], or that of a file that
// cannot be read.
func ReadClientConfig(path, server string, env func(string) (string, bool)) (Server, error) {
	text, err := yamlfile.Read(path)
	if err != nil {
		return Server{}, fmt.Errorf("read the client configuration: %w", err)
	}
	r := newClientReader(path, env)
	s := r.clientConfig(text, server)
	if err := r.Invalid(); err != nil {
		return Server{}, err
	}
	return s, nil
}

func (r *reader) clientConfig(text []byte, server string) Server {
	root, ok := r.Document(text)
	if !ok {
		return Server{}
	}
	servers := make(map[string]place)
	seen, ok := yamlfile.Object(r, root, clientFields, &servers)
	if !ok || r.Faulty() {
		return Server{}
	}
	p, found := servers[server]
	if !found {
		at, given := seen["mcpServers"]
		switch {
		case !given:
			r.Fault(root.Member("mcpServers"), "must be a mapping, not null")
		case len(servers) == 0:
			r.Fault(at, "names no server")
		default:
			var names []string
			for name := range servers {
				names = append(names, name)
			}
			r.Fault(at, "has no server "+yamlfile.Name(server)+"; the servers are "+yamlfile.Listed(names))
		}
		return Server{}
	}
	var s clientServer
	given, ok := yamlfile.Object(r, p, clientServerFields, &s)
	if !ok || s.kind == unknownTransport {
		return Server{}
	}
	r.reached(p, given)
	if args, has := given["args"]; has && s.program == "" {
		if _, command := given["command"]; !command {
			r.Fault(args, "may only stand beside command")
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
	text, ok := r.Text(p, yamlfile.WithoutSandbox)
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
		r.Fault(p, "the old transport sse is not spoken; most servers that have it also speak streamable-http, often at /mcp")
	} else {
		r.Fault(p, "must be one of "+strings.Join(names, ", "))
	}
	return unknownTransport
}

// fits checks that the type of a server is that of how it is reached.
func (r *reader) fits(given map[string]place, kind string) {
	for _, t := range transports {
		if _, has := given[t.key]; t.name == kind && !has {
			r.Fault(given["type"], fmt.Sprintf("%s goes with a %s, which is missing", kind, t.key))
		}
	}
}

// program reads the one word that a client starts.
func (r *reader) program(p place) string {
	text, ok := r.Text(p, yamlfile.WithSandbox)
	if ok && text == "" {
		r.Fault(p, "must name a program, not be an empty string")
	}
	return text
}

func (r *reader) args(p place) []string {
	items, _ := r.Items(p, "a list of strings")
	var args []string
	for _, item := range items {
		text, _ := r.Text(item, yamlfile.WithSandbox)
		args = append(args, text)
	}
	return args
}
