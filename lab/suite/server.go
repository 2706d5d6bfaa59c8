package suite

import (
	"net/url"
	"strings"

	"agentlab/lab/yamlfile"
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
	yamlfile.Optional("command", func(r *reader, p place, s *Server) { s.Command = r.command(p) }),
	yamlfile.Optional("env", func(r *reader, p place, s *Server) { s.Env = r.environment(p) }),
	yamlfile.Optional("url", func(r *reader, p place, s *Server) { s.URL = r.url(p) }),
	yamlfile.Optional("headers", func(r *reader, p place, s *Server) { s.Headers = r.headers(p) }),
}

func (r *reader) server(p place) Server {
	var s Server
	if seen, ok := yamlfile.ObjectSuch(r, p, "{command: [npx, -y, a-server]}", serverFields, &s); ok {
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
		r.Fault(seen["url"], "may not stand beside command")
	case !command && !url:
		r.Fault(p, "needs a command or a url")
		return
	}
	if hasEnv && !command {
		r.Fault(env, "may only stand beside command")
	}
	if hasHeaders && !url {
		r.Fault(headers, "may only stand beside url")
	}
}

// command reads a program and its arguments, which are not taken apart any
// further: where a quote ends is for a shell to say.
func (r *reader) command(p place) []string {
	items, ok := r.Items(p, "a list of strings, such as [npx, -y, a-server]")
	if !ok {
		return nil
	}
	if len(items) == 0 {
		r.Fault(p, "must name a program")
	}
	var command []string
	for i, item := range items {
		text, ok := r.Text(item, yamlfile.WithSandbox)
		if ok && i == 0 && text == "" {
			r.Fault(item, "must name a program, not be an empty string")
		}
		command = append(command, text)
	}
	return command
}

func (r *reader) environment(p place) map[string]string {
	members, ok := r.Members(p)
	if !ok {
		return nil
	}
	env := make(map[string]string)
	for _, m := range members {
		if m.Name == "" || strings.ContainsAny(m.Name, "=\x00") {
			r.Fault(m.Key, "cannot be the name of a variable")
		}
		env[m.Name], _ = r.Text(m.Value, yamlfile.WithSandbox)
	}
	return env
}

// The forms of a header by RFC 9110, sections 5.1 and 5.5.
var (
	headerName  = yamlfile.Grammar("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	headerValue = yamlfile.Grammar(`^[\t\x20-\x7e\x{80}-\x{10ffff}]*$`)
)

func (r *reader) headers(p place) map[string]string {
	members, ok := r.Members(p)
	if !ok {
		return nil
	}
	headers := make(map[string]string)
	lower := make(map[string]string)
	for _, m := range members {
		if !headerName().MatchString(m.Name) {
			r.Fault(m.Key, "cannot be the name of a header")
		}
		if other, again := lower[strings.ToLower(m.Name)]; again {
			r.Fault(m.Key, "is the header "+yamlfile.Name(other)+" again: case makes no difference")
		}
		lower[strings.ToLower(m.Name)] = m.Name
		value, ok := r.Text(m.Value, yamlfile.WithoutSandbox)
		if ok && !headerValue().MatchString(value) {
			r.Fault(m.Value, "cannot be the value of a header: it holds a line end or another control character")
		}
		headers[m.Name] = value
	}
	return headers
}

func (r *reader) url(p place) string {
	text, ok := r.Text(p, yamlfile.WithoutSandbox)
	if ok {
		if reason := badURL(text); reason != "" {
			r.Fault(p, reason)
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
