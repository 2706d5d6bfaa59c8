package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"go.yaml.in/yaml/v3"
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
	{Directory{}.Kind(), false, func(r *reader, p place, all *[]Effect) { *all = append(*all, r.directory(p)) }},
	{SQLite{}.Kind(), false, func(r *reader, p place, all *[]Effect) { *all = append(*all, SQLite{r.path(p)}) }},
	{Call{}.Kind(), false, func(r *reader, p place, all *[]Effect) {
		c := Call{Arguments: json.RawMessage("{}")}
		object(r, p, callFields, &c)
		*all = append(*all, c)
	}},
	{HTTP{}.Kind(), false, func(r *reader, p place, all *[]Effect) { *all = append(*all, r.http(p)) }},
	{Command{}.Kind(), false, func(r *reader, p place, all *[]Effect) { *all = append(*all, Command{r.command(p)}) }},
}

var directoryFields = table[Directory]{
	{"path", true, func(r *reader, p place, d *Directory) { d.Path = r.path(p) }},
	{"ignore", false, func(r *reader, p place, d *Directory) { d.Ignore = r.globs(p) }},
}

var callFields = table[Call]{
	{"tool", true, func(r *reader, p place, c *Call) { c.Tool, _ = r.filled(p, "the name of a tool") }},
	{"arguments", false, func(r *reader, p place, c *Call) { c.Arguments = r.arguments(p) }},
	{"server", false, func(r *reader, p place, c *Call) { s := r.server(p); c.Server = &s }},
}

var httpFields = table[HTTP]{
	{"url", true, func(r *reader, p place, h *HTTP) { h.URL = r.url(p) }},
	{"headers", false, func(r *reader, p place, h *HTTP) { h.Headers = r.headers(p) }},
}

// effects reads one mapping of effects or a list of them. It never returns nil:
// what is there but wrong has a fault of its own.
func (r *reader) effects(p place) *[]Effect {
	all := new([]Effect)
	switch kind(p.node) {
	case "a list":
		items, _ := r.items(p, "")
		for _, item := range items {
			r.effect(item, all)
		}
	case "a mapping":
		r.effect(p, all)
	default:
		if r.plain(p) {
			r.fault(p, "must be a mapping or a list of mappings, not "+kind(p.node))
		}
	}
	return all
}

func (r *reader) effect(p place, all *[]Effect) {
	if p.node.Kind == yaml.MappingNode && len(p.node.Content) == 0 {
		r.fault(p, "must have one of the keys "+strings.Join(effectFields.names(), ", "))
		return
	}
	object(r, p, effectFields, all)
}

func (r *reader) directory(p place) Directory {
	var d Directory
	if kind(p.node) != "a mapping" {
		d.Path = r.path(p)
		return d
	}
	object(r, p, directoryFields, &d)
	return d
}

func (r *reader) http(p place) HTTP {
	var h HTTP
	if kind(p.node) != "a mapping" {
		h.URL = r.url(p)
		return h
	}
	object(r, p, httpFields, &h)
	return h
}

func (r *reader) globs(p place) []string {
	items, ok := r.items(p, `a list of patterns, such as ["*.log"]`)
	if !ok {
		return nil
	}
	var globs []string
	for _, item := range items {
		glob, ok := r.filled(item, "a pattern")
		if ok && (strings.Trim(glob, "/") == "" || !doublestar.ValidatePattern(strings.Trim(glob, "/"))) {
			r.fault(item, "is not a pattern: a [ or { is not closed or is empty, or there is nothing but a slash")
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
		effect, reason = Directory{Path: value}, badPath(value)
	case "sqlite":
		effect, reason = SQLite{value}, badPath(value)
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
