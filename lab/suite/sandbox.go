package suite

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/yamlfile"
)

// SandboxVariable stands for the folder that a server may write in. It is not a
// variable of the environment, and is left in a suite for [Surface.In].
const SandboxVariable = yamlfile.SandboxVariable

// In returns the surface with its sandbox at a path: [SandboxVariable] is
// replaced wherever it stands.
func (s Surface) In(sandbox string) Surface {
	s.Server = s.Server.In(sandbox)
	s.Effects = slices.Clone(s.Effects)
	for i, e := range s.Effects {
		s.Effects[i] = e.in(sandbox)
	}
	return s
}

// In returns the server with [SandboxVariable] replaced by a path.
func (s Server) In(sandbox string) Server {
	s.Command = replaced(s.Command, sandbox)
	s.Env = maps.Clone(s.Env)
	for name, value := range s.Env {
		s.Env[name] = strings.ReplaceAll(value, SandboxVariable, sandbox)
	}
	return s
}

func (d Directory) in(sandbox string) Effect {
	d.Path = strings.ReplaceAll(d.Path, SandboxVariable, sandbox)
	return d
}

func (s SQLite) in(sandbox string) Effect {
	return SQLite{strings.ReplaceAll(s.Path, SandboxVariable, sandbox)}
}

func (c Call) in(sandbox string) Effect {
	// Keys do not hold the variable, and none of its characters is escaped.
	path := jsonvalue.AppendString(nil, sandbox)
	inside := path[1 : len(path)-1]
	c.Arguments = json.RawMessage(bytes.ReplaceAll(c.Arguments, []byte(SandboxVariable), inside))
	if c.Server != nil {
		server := c.Server.In(sandbox)
		c.Server = &server
	}
	return c
}

func (h HTTP) in(string) Effect { return h }

func (c Command) in(sandbox string) Effect { return Command{replaced(c.Args, sandbox)} }

func replaced(texts []string, sandbox string) []string {
	texts = slices.Clone(texts)
	for i, text := range texts {
		texts[i] = strings.ReplaceAll(text, SandboxVariable, sandbox)
	}
	return texts
}
