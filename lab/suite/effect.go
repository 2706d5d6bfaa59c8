package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"agentlab/lab/yamlfile"
)

// Effect is one way to count side effects: a [Directory], [SQLite], [Call],
// [HTTP] or [Command]. Paths, arguments and commands may hold [SandboxVariable].
type Effect interface {
	// Kind is the key that the effect has in a suite file.
	Kind() string
	in(sandbox string) Effect
}

// Directory counts the files below a folder.
type Directory struct {
	Path   string
	Ignore []string // globs, as the probe of folders knows them
}

// SQLite counts the rows of a database.
type SQLite struct {
	Path string
}

// Call counts the entries of what a read-only tool answers.
type Call struct {
	Tool      string
	Arguments json.RawMessage // a JSON object
	Server    *Server         // nil for the surface's own
}

// HTTP counts the entries of the JSON that a GET answers. What Headers hold may
// be secret.
type HTTP struct {
	URL     string
	Headers map[string]string
}

// Command counts the entries of the JSON that a command writes.
type Command struct {
	Args []string // the program and its arguments
}

func (Directory) Kind() string { return "directory" }
func (SQLite) Kind() string    { return "sqlite" }
func (Call) Kind() string      { return "call" }
func (HTTP) Kind() string      { return "http" }
func (Command) Kind() string   { return "command" }

// effectFields are the kinds of effects.
var effectFields = table[[]Effect]{
	yamlfile.Optional(Directory{}.Kind(), func(r *reader, p place, all *[]Effect) { *all = append(*all, r.directory(p)) }),
	yamlfile.Optional(SQLite{}.Kind(), func(r *reader, p place, all *[]Effect) { *all = append(*all, SQLite{r.Path(p)}) }),
	yamlfile.Optional(Call{}.Kind(), func(r *reader, p place, all *[]Effect) {
		c := Call{Arguments: json.RawMessage("{}")}
		yamlfile.ObjectSuch(r, p, "{tool: list_items}", callFields, &c)
		*all = append(*all, c)
	}),
	yamlfile.Optional(HTTP{}.Kind(), func(r *reader, p place, all *[]Effect) { *all = append(*all, r.http(p)) }),
	yamlfile.Optional(Command{}.Kind(), func(r *reader, p place, all *[]Effect) { *all = append(*all, Command{r.command(p)}) }),
}

var directoryFields = table[Directory]{
	yamlfile.Required("path", func(r *reader, p place, d *Directory) { d.Path = r.Path(p) }),
	yamlfile.Optional("ignore", func(r *reader, p place, d *Directory) { d.Ignore = r.globs(p) }),
}

var callFields = table[Call]{
	yamlfile.Required("tool", func(r *reader, p place, c *Call) { c.Tool, _ = r.Filled(p, "the name of a tool") }),
	yamlfile.Optional("arguments", func(r *reader, p place, c *Call) { c.Arguments, _ = r.JSONObject(p, yamlfile.WithSandbox) }),
	yamlfile.Optional("server", func(r *reader, p place, c *Call) { s := r.server(p); c.Server = &s }),
}

var httpFields = table[HTTP]{
	yamlfile.Required("url", func(r *reader, p place, h *HTTP) { h.URL = r.url(p) }),
	yamlfile.Optional("headers", func(r *reader, p place, h *HTTP) { h.Headers = r.headers(p) }),
}

// effects reads one mapping of effects or a list of them. It never returns nil:
// what is there but wrong has a fault of its own.
func (r *reader) effects(p place) *[]Effect {
	all := new([]Effect)
	switch p.Kind() {
	case yamlfile.List:
		items, _ := r.Items(p, "")
		for _, item := range items {
			r.effect(item, all)
		}
	case yamlfile.Mapping:
		r.effect(p, all)
	default:
		if r.Plain(p) {
			r.Fault(p, "must be a mapping, such as {directory: \"${SANDBOX}\"}, or a list of mappings, not "+string(p.Kind()))
		}
	}
	return all
}

func (r *reader) effect(p place, all *[]Effect) {
	if p.Kind() == yamlfile.Mapping && p.Empty() {
		r.Fault(p, "must have one of the keys "+strings.Join(effectFields.Names(), ", "))
		return
	}
	yamlfile.ObjectSuch(r, p, `{directory: "${SANDBOX}"}`, effectFields, all)
}

func (r *reader) directory(p place) Directory {
	var d Directory
	if p.Kind() != yamlfile.Mapping {
		d.Path = r.Path(p)
		return d
	}
	yamlfile.Object(r, p, directoryFields, &d)
	return d
}

func (r *reader) http(p place) HTTP {
	var h HTTP
	if p.Kind() != yamlfile.Mapping {
		h.URL = r.url(p)
		return h
	}
	yamlfile.Object(r, p, httpFields, &h)
	return h
}

func (r *reader) globs(p place) []string {
	items, ok := r.Items(p, `a list of patterns, such as ["*.log"]`)
	if !ok {
		return nil
	}
	var globs []string
	for _, item := range items {
		glob, ok := r.Filled(item, "a pattern")
		if ok && (strings.Trim(glob, "/") == "" || !doublestar.ValidatePattern(strings.Trim(glob, "/"))) {
			r.Fault(item, "is not a pattern: a [ or { is not closed or is empty, or there is nothing but a slash")
		}
		globs = append(globs, glob)
	}
	return globs
}

// ParseEffect reads an effect as a flag writes it: dir:PATH, sqlite:PATH, http:URL
// or command:COMMAND, which split takes apart. What the shell has read is final:
// no variable but [SandboxVariable] is known, and a relative path is relative to
// the current folder.
func ParseEffect(flag string, split func(string) ([]string, error)) (Effect, error) {
	kind, value, found := strings.Cut(flag, ":")
	reason := ""
	var effect Effect
	switch {
	case !found:
		kind = ""
	case value == "":
		return nil, fmt.Errorf("nothing stands after %q", kind+":")
	case strings.Contains(value, "\x00"):
		return nil, errors.New("a NUL character")
	}
	switch kind {
	case "dir", "directory":
		effect, reason = Directory{Path: value}, yamlfile.PathFault(value)
	case "sqlite":
		effect, reason = SQLite{value}, yamlfile.PathFault(value)
	case "http":
		effect, reason = HTTP{URL: value}, badURL(value)
	case "command":
		args, err := split(value)
		if err != nil {
			return nil, fmt.Errorf("command: %w", err)
		}
		if len(args) == 0 || args[0] == "" {
			reason = "must name a program"
		}
		effect = Command{args}
	default:
		return nil, errors.New("must be dir:PATH, sqlite:PATH, http:URL or command:COMMAND")
	}
	if reason != "" {
		return nil, fmt.Errorf("%s: %s", kind, reason)
	}
	return effect, nil
}
