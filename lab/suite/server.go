package suite

import (
	"net/url"
	"strings"
)

// Server is how an MCP server is reached: a command to start, or a URL. What
// Env and Headers hold may be secret.
type Server struct {
	Command []string          // the program and its arguments
	Env     map[string]string // added to the environment that every server gets
	URL     string
	Headers map[string]string // sent with every request
}

var serverFields = table[Server]{
	{"command", false, func(r *reader, p place, s *Server) { s.Command = r.command(p) }},
	{"env", false, func(r *reader, p place, s *Server) { s.Env = r.environment(p) }},
	{"url", false, func(r *reader, p place, s *Server) { s.URL = r.url(p) }},
	{"headers", false, func(r *reader, p place, s *Server) { s.Headers = r.headers(p) }},
}

func (r *reader) server(p place) Server {
	var s Server
	if seen, ok := object(r, p, serverFields, &s); ok {
		r.reached(p, seen)
	}
	return s
}

// reached checks that a server is reached in one way.
func (r *reader) reached(p place, seen map[string]place) {
	_, command := seen["command"]
	_, url := seen["url"]
	env, hasEnv := seen["env"]
	headers, hasHeaders := seen["headers"]
	switch {
	case command && url:
		r.fault(seen["url"], "may not stand beside command")
	case !command && !url:
		r.fault(p, "needs a command or a url")
		return
	}
	if hasEnv && !command {
		r.fault(env, "may only stand beside command")
	}
	if hasHeaders && !url {
		r.fault(headers, "may only stand beside url")
	}
}

// command reads a program and its arguments, which are not taken apart any
// further: where a quote ends is for a shell to say.
func (r *reader) command(p place) []string {
	items, ok := r.items(p, "a list of strings, such as [npx, -y, a-server]")
	if !ok {
		return nil
	}
	if len(items) == 0 {
		r.fault(p, "must name a program")
	}
	var command []string
	for i, item := range items {
		text, ok := r.text(item, withSandbox)
		if ok && i == 0 && text == "" {
			r.fault(item, "must name a program, not be an empty string")
		}
		command = append(command, text)
	}
	return command
}

func (r *reader) environment(p place) map[string]string {
	members, ok := r.members(p)
	if !ok {
		return nil
	}
	env := make(map[string]string)
	for _, m := range members {
		if m.name == "" || strings.ContainsAny(m.name, "=\x00") {
			r.fault(m.key, "cannot be the name of a variable")
		}
		env[m.name], _ = r.text(m.value, withSandbox)
	}
	return env
}

// The forms of a header by RFC 9110, sections 5.1 and 5.5.
var (
	headerName  = grammar("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	headerValue = grammar(`^[\t\x20-\x7e\x{80}-\x{10ffff}]*$`)
)

func (r *reader) headers(p place) map[string]string {
	members, ok := r.members(p)
	if !ok {
		return nil
	}
	headers := make(map[string]string)
	lower := make(map[string]string)
	for _, m := range members {
		if !headerName().MatchString(m.name) {
			r.fault(m.key, "cannot be the name of a header")
		}
		if other, again := lower[strings.ToLower(m.name)]; again {
			r.fault(m.key, "is the header "+plainName(other)+" again: case makes no difference")
		}
		lower[strings.ToLower(m.name)] = m.name
		value, ok := r.text(m.value, withoutSandbox)
		if ok && !headerValue().MatchString(value) {
			r.fault(m.value, "cannot be the value of a header: it holds a line end or another control character")
		}
		headers[m.name] = value
	}
	return headers
}

func (r *reader) url(p place) string {
	text, ok := r.text(p, withoutSandbox)
	if ok {
		if reason := badURL(text); reason != "" {
			r.fault(p, reason)
		}
	}
	return text
}

func badURL(text string) string {
	// The error of url.Parse tells the URL, in which a token may stand.
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "must be a URL that begins with http:// or https:// and a host"
	case u.User != nil:
		return "may hold no user and no password; put them in a header"
	}
	return ""
}
