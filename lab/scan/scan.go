// Package scan is the first look at a server that somebody else made: what its
// tools do with calls that their own schemas forbid, and what else an agent would
// stumble over.
//
// Start with [Run], which calls the tools that are safe to call and returns a
// [Report]; [Kinds] lists what it can find.
//
// One invariant: no tool is called without somebody's word for it. A tool is called
// where a contract or the server says that it only reads, where the user names it,
// or where the user allows writes and the server works in a sandbox. Of every other
// tool the report says why it was left out.
//
// A finding is something that was seen, with the call that shows it: nothing is
// concluded from a schema or a description alone. What was not looked at, because
// the time was up or no call of a tool succeeded, is told too, so that silence is
// not taken for praise.
//
// The package prints nothing, starts nothing and grades nothing: sessions come in
// through [tool.Foreign]. It makes no claim about what a valid call should have
// done; that is what cases are for.
package scan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"agentlab/lab/tool"
)

// Settings say what may be called, and how much.
type Settings struct {
	// Reads tells of the tools that a contract names whether they only read.
	Reads map[string]bool
	// Named are tools that the user wants called, whatever they do.
	Named []string
	// Known are calls that are known to succeed on a fresh backend, by the name of the
	// tool: a schema alone does not know what is there.
	Known map[string]Known
	// Writes allows calls of tools that may change something. It is for a server
	// that works in a sandbox.
	Writes bool

	PerTool   int           // calls of one tool at most
	MaxOutput int           // bytes of an answer before it is too large
	CallTime  time.Duration // of one call
	Time      time.Duration // of everything
	// Progress, where set, is told of each tool before it is looked at.
	Progress func(name string)
}

// Known is a call that a case expects to succeed.
type Known struct {
	Case      string // its id
	Arguments json.RawMessage
}

// Report is what a scan has to say.
type Report struct {
	Server   string    `json:"server"`
	Tools    []Tool    `json:"tools"`    // by name
	Findings []Finding `json:"findings"` // by tool, those of the server first
	// Unlooked are sentences on what was not looked at in the whole server.
	Unlooked []string `json:"not_looked_at"`
}

// Tool is what was done with one tool.
type Tool struct {
	Name string `json:"name"`
	// Why says why the tool was called, or was left out.
	Why    string `json:"why"`
	Called bool   `json:"called"`
	Calls  int    `json:"calls"` // that were made
	// Case is the id of the case whose call stands in place of the plain call that the
	// schema describes; empty where there is none.
	Case string `json:"case,omitempty"`
	// Plain says what came of that call.
	Plain    Came `json:"plain_call"`
	Invalid  int  `json:"invalid_calls"`          // calls that the schema forbids
	Accepted int  `json:"invalid_calls_accepted"` // of these
	Largest  int  `json:"largest_answer_bytes"`
	// Unlooked are sentences on what was not looked at in this tool.
	Unlooked []string `json:"not_looked_at"`
}

// NoCall is why a tool was not called that could have been.
const NoCall = "it may be called, but no call of it could be made"

// Came is what came of a call.
type Came string

const (
	NotMade   Came = "not_made"
	Succeeded Came = "ok"
	Failed    Came = "error"
	Lost      Came = "no_result"
)

// Worst is the most severe of the findings, or empty where there is none.
func (r *Report) Worst() Severity {
	worst := Severity("")
	for _, f := range r.Findings {
		if f.Severity == Error {
			return Error
		}
		worst = f.Severity
	}
	return worst
}

// Breaks adds what the server was seen to do against the protocol, beside its calls.
func (r *Report) Breaks(said []string) {
	for _, text := range said {
		r.Findings = append(r.Findings, Finding{Code: ProtocolBroken, Severity: Warning, Says: text})
	}
	r.sort()
}

// The bounds of what a tool may break before it is left alone.
const (
	maxLosses     = 3
	maxUnanswered = 2
)

// Run looks at every tool of a server that may be called. An error is that of ctx,
// of a server that takes no session at all, or of a named tool that there is not.
func Run(ctx context.Context, surface tool.Foreign, settings Settings) (*Report, error) {
	if down := surface.Down(); down != nil {
		return nil, down
	}
	r := &Report{Server: surface.Name(), Tools: []Tool{}, Findings: []Finding{}, Unlooked: []string{}}
	definitions := slices.Clone(surface.Definitions())
	for _, name := range settings.Named {
		if !slices.ContainsFunc(definitions, func(d tool.Definition) bool { return d.Name == name }) {
			return nil, &NoTool{name, definitions}
		}
	}
	if surface.Blind() {
		r.Unlooked = append(r.Unlooked, "what calls change: nobody says where it could be seen")
	}
	limited, cancel := context.WithTimeout(ctx, settings.Time)
	defer cancel()
	opened := 0
	var refused error
	for _, d := range definitions {
		t := Tool{Name: d.Name, Plain: NotMade, Unlooked: []string{}}
		t.Called, t.Why = settings.may(d)
		if !t.Called {
			r.Tools = append(r.Tools, t)
			continue
		}
		if settings.Progress != nil {
			settings.Progress(d.Name)
		}
		l := &look{scan: &settings, surface: surface, report: r, tool: &t, d: d, sure: settings.onlyReads(d), made: make(map[string]bool), errors: make(map[string]bool)}
		err := l.look(limited)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		switch {
		case limited.Err() != nil:
			l.unlooked("what more calls would show: the time was up (%s for everything)", settings.Time)
		case err != nil:
			l.unlooked("what more calls would show: %s", reason(err))
			refused = err
		}
		if t.Calls > 0 {
			opened++
		}
		if t.Called = t.Calls > 0; !t.Called {
			t.Why = NoCall
		}
		r.Tools = append(r.Tools, t)
	}
	if opened == 0 && refused != nil {
		return nil, refused
	}
	r.sort()
	return r, nil
}

// NoTool is the error of a named tool that the server does not list.
type NoTool struct {
	Name  string
	there []tool.Definition
}

func (e *NoTool) Error() string { return fmt.Sprintf("the server has no tool %q", e.Name) }

// Names are those that the server lists.
func (e *NoTool) Names() []string {
	names := make([]string, len(e.there))
	for i, d := range e.there {
		names[i] = d.Name
	}
	return names
}

// reason is an error as a report may show it: in the same words whenever the same
// happens.
func reason(err error) string {
	var down *tool.Unavailable
	if errors.As(err, &down) {
		return down.Reason
	}
	return err.Error()
}

// may says whether a tool may be called, and why or why not.
func (s *Settings) may(d tool.Definition) (yes bool, why string) {
	reads, known := s.Reads[d.Name]
	hints := d.Hints()
	switch {
	case slices.Contains(s.Named, d.Name):
		return true, "it was named"
	case known && reads:
		return true, "the contract says that it only reads"
	case !known && hints.ReadsOnly():
		return true, "the server says that it only reads"
	case s.Writes && actsOutside(d):
		return false, "it says that it acts outside of the sandbox (openWorldHint)"
	case s.Writes:
		return true, "writes in the sandbox are allowed"
	case known:
		return false, "the contract says that it changes something"
	case hints.Changes():
		return false, "the server says that it changes something"
	}
	return false, "nobody says what it does: it has no readOnlyHint"
}

// onlyReads is whose word there is for a tool that changes nothing; empty where
// there is none.
func (s *Settings) onlyReads(d tool.Definition) string {
	if reads, known := s.Reads[d.Name]; known {
		if reads {
			return "the contract"
		}
		return ""
	}
	if d.Hints().ReadsOnly() {
		return "the server"
	}
	return ""
}

// actsOutside reports whether a tool says of itself that it reaches what no sandbox
// holds. Without a word MCP takes it for granted, which would leave nothing.
func actsOutside(d tool.Definition) bool {
	var hints struct {
		OpenWorld *bool `json:"openWorldHint"`
	}
	return json.Unmarshal(d.Annotations, &hints) == nil && hints.OpenWorld != nil && *hints.OpenWorld
}

// saysIdempotent reports whether a tool says that a repeat changes nothing more.
func saysIdempotent(d tool.Definition) bool {
	var hints struct {
		Idempotent *bool `json:"idempotentHint"`
	}
	return json.Unmarshal(d.Annotations, &hints) == nil && hints.Idempotent != nil && *hints.Idempotent
}

// Called tells how many tools were called, and with how many calls.
func (r *Report) Called() (tools, calls int) {
	for _, t := range r.Tools {
		if t.Called {
			tools++
			calls += t.Calls
		}
	}
	return tools, calls
}
