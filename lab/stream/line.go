package stream

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/tool"
)

// started is a line of any event.
type started interface {
	of() (version int, event string)
}

type start struct {
	SchemaVersion int    `json:"schema_version"`
	Event         string `json:"event"`
}

func (s *start) of() (int, string) { return s.SchemaVersion, s.Event }

type headLine struct {
	start   `json:",inline"`
	Version string `json:"version"`
	Dataset struct {
		Name      string   `json:"name"`
		Selection []string `json:"selection"`
		Files     []string `json:"files"`
	} `json:"dataset"`
	Shard *struct {
		Index int `json:"index"`
		Of    int `json:"of"`
	} `json:"shard"`
	Repeat    int          `json:"repeat"`
	Baseline  *surfaceLine `json:"baseline"`
	Candidate surfaceLine  `json:"candidate"`
}

type surfaceLine struct {
	Strategy         string `json:"strategy"`
	Foreign          bool   `json:"foreign"`
	Blind            bool   `json:"blind"`
	ModelSchemaBytes *int   `json:"model_schema_bytes"`
	Tools            []struct {
		Name    string `json:"name"`
		Bytes   int    `json:"bytes"`
		Version string `json:"version"`
	} `json:"tools"`
}

func (l *surfaceLine) summary() eval.Summary {
	s := eval.Summary{Strategy: l.Strategy, Foreign: l.Foreign, Blind: l.Blind, CatalogUnknown: l.ModelSchemaBytes == nil}
	if l.ModelSchemaBytes != nil {
		s.ModelSchemaBytes = *l.ModelSchemaBytes
	}
	for _, t := range l.Tools {
		s.Tools = append(s.Tools, eval.ToolSize{Name: t.Name, Bytes: t.Bytes, Version: t.Version})
	}
	return s
}

type endLine struct {
	start      `json:",inline"`
	SHA256     string `json:"sha256"`
	Cases      int    `json:"cases"`
	Todo       int    `json:"todo"`
	GatePassed bool   `json:"gate_passed"`
}

type runLine struct {
	start       `json:",inline"`
	Strategy    string         `json:"strategy"`
	CaseID      string         `json:"case_id"`
	Intent      string         `json:"intent"`
	Source      int            `json:"source"`
	File        string         `json:"file"`
	Line        int            `json:"line"`
	Tags        []string       `json:"tags"`
	Clause      string         `json:"clause"`
	Staged      bool           `json:"staged"`
	Passed      *bool          `json:"passed"`
	SideEffects *int           `json:"side_effect_count"`
	CouldNotRun *string        `json:"could_not_run"`
	Todo        string         `json:"todo"`
	Proposals   []proposalLine `json:"proposals"`
	Results     []resultLine   `json:"results"`
	Grades      []gradeLine    `json:"grades"`
	Trace       []traceLine    `json:"trace"`
	Unshown     []struct {
		Approval int       `json:"approval"`
		Error    errorLine `json:"error"`
	} `json:"unshown"`
	State    jsontext.Value `json:"state"`
	Receipts jsontext.Value `json:"receipts"`
}

type proposalLine struct {
	Name      string         `json:"name"`
	Arguments jsontext.Value `json:"arguments"`
	Raw       *string        `json:"raw"`
	Format    string         `json:"format"`
	Caller    string         `json:"caller"`
}

func (l *proposalLine) proposal() dataset.Proposal {
	p := dataset.Proposal{Name: l.Name, Arguments: rawOrNil(l.Arguments)}
	if l.Raw != nil || l.Caller != "" {
		p.Setting = &dataset.Setting{Raw: l.Raw, Format: l.Format}
	}
	if l.Caller != "" {
		p.Caller = &tool.Caller{ID: l.Caller}
	}
	return p
}

type resultLine struct {
	OK          bool           `json:"ok"`
	Output      jsontext.Value `json:"output"`
	Error       *errorLine     `json:"error"`
	SideEffects *int           `json:"side_effects"`
	Replayed    bool           `json:"replayed"`
	Malformed   bool           `json:"malformed"`
	Reply       *replyLine     `json:"reply"`
	ReplacedBy  string         `json:"replaced_by"`
	TookMS      int64          `json:"took_ms"`
	Attempts    []attemptLine  `json:"attempts"`
}

type replyLine struct {
	IsError     bool  `json:"is_error"`
	Bytes       int   `json:"bytes"`
	SchemaValid *bool `json:"schema_valid"`
}

func (l *replyLine) reply() *tool.Reply {
	if l == nil {
		return nil
	}
	return &tool.Reply{IsError: l.IsError, Bytes: l.Bytes, SchemaValid: l.SchemaValid}
}

type errorLine struct {
	Code       tool.Code      `json:"code"`
	Category   tool.Category  `json:"category"`
	Message    string         `json:"message"`
	Retryable  bool           `json:"retryable"`
	Details    jsontext.Value `json:"details"`
	NextAction string         `json:"next_action"`
	Outcome    tool.Outcome   `json:"outcome"`
}

func (l *errorLine) error() *tool.Error {
	if l == nil {
		return nil
	}
	return &tool.Error{Code: l.Code, Category: l.Category, Message: l.Message, Retryable: l.Retryable,
		Details: rawOrNil(l.Details), NextAction: l.NextAction, Outcome: l.Outcome}
}

type attemptLine struct {
	OK          bool            `json:"ok"`
	Code        tool.Code       `json:"code"`
	Category    tool.Category   `json:"category"`
	OutputBytes int             `json:"output_bytes"`
	Replayed    bool            `json:"replayed"`
	Reply       *replyLine      `json:"reply"`
	Decisions   []tool.Decision `json:"decisions"`
	Action      tool.Action     `json:"action"`
	WaitMS      int64           `json:"wait_ms"`
	Reason      string          `json:"reason"`
}

// attempt is an attempt that was not the last. Of its output the size is known.
func (l *attemptLine) attempt() eval.Attempt {
	a := eval.Attempt{Next: l.next()}
	a.Replayed, a.Reply, a.Trace.Decisions = l.Replayed, l.Reply.reply(), l.Decisions
	if l.OK {
		a.Output = make(json.RawMessage, l.OutputBytes)
	} else {
		a.Error = &tool.Error{Code: l.Code, Category: l.Category}
	}
	return a
}

func (l *attemptLine) next() tool.NextStep {
	return tool.NextStep{Action: l.Action, Wait: time.Duration(l.WaitMS) * time.Millisecond, Reason: l.Reason}
}

type gradeLine struct {
	Name     string         `json:"name"`
	Passed   bool           `json:"passed"`
	Expected jsontext.Value `json:"expected"`
	Actual   jsontext.Value `json:"actual"`
}

type traceLine struct {
	Decisions   []tool.Decision `json:"decisions"`
	HandlerRan  bool            `json:"handler_ran"`
	Fingerprint string          `json:"fingerprint"`
	Fault       string          `json:"fault"`
	Effects     []tool.Effect   `json:"effects"`
	ListChanged bool            `json:"tools_list_changed"`
}

// run is the run that a line tells of. The case is that of the pair, which the first
// run of a pair makes; what it expects is what was graded.
func (l *runLine) run(surface *eval.Summary, pair *eval.Pair) *eval.Run {
	proposals := make([]dataset.Proposal, len(l.Proposals))
	for i := range l.Proposals {
		proposals[i] = l.Proposals[i].proposal()
	}
	if pair.Case == nil {
		pair.Case = &dataset.Case{ID: l.CaseID, Intent: l.Intent, Todo: l.Todo, Tags: l.Tags, Clause: l.Clause, Baseline: proposals}
		if l.Staged {
			pair.Case.Stage = new(dataset.Stage)
		}
		pair.Source, pair.File, pair.Line = l.Source, l.File, l.Line
	}
	c := pair.Case
	c.Candidate = proposals // the candidate's line comes last
	run := &eval.Run{Strategy: l.Strategy, Case: c, Blind: surface.Blind, State: rawOrNil(l.State), Receipts: rawOrNil(l.Receipts)}
	if l.CouldNotRun != nil {
		run.Unavailable = &tool.Unavailable{Surface: l.Strategy, Reason: *l.CouldNotRun}
	}
	if l.Passed != nil {
		run.Passed = *l.Passed
	}
	if l.SideEffects != nil {
		run.SideEffects = *l.SideEffects
	}
	for i := range l.Results {
		run.Steps = append(run.Steps, l.step(i))
	}
	for _, g := range l.Grades {
		run.Grades = append(run.Grades, eval.Grade{Name: g.Name, Passed: g.Passed, Expected: rawOrNil(g.Expected), Actual: rawOrNil(g.Actual)})
		expect(&c.Expected, g.Name, rawOrNil(g.Expected), len(proposals))
	}
	for _, u := range l.Unshown {
		run.Unshown = append(run.Unshown, eval.Unshown{Approval: u.Approval, Error: u.Error.error()})
	}
	return run
}

// timed reports whether its times can be ones of a simulated clock.
func (l *runLine) timed() bool {
	within := func(milliseconds int64) bool { return milliseconds >= 0 && milliseconds <= MaxTime.Milliseconds() }
	for i := range l.Results {
		r := &l.Results[i]
		if !within(r.TookMS) || slices.ContainsFunc(r.Attempts, func(a attemptLine) bool { return !within(a.WaitMS) }) {
			return false
		}
	}
	return true
}

func (l *runLine) step(i int) eval.Step {
	r := &l.Results[i]
	s := eval.Step{Malformed: r.Malformed}
	if r.SideEffects != nil {
		s.SideEffects = *r.SideEffects
	}
	s.Error, s.Replayed, s.ReplacedBy, s.Reply = r.Error.error(), r.Replayed, r.ReplacedBy, r.Reply.reply()
	s.Took = time.Duration(r.TookMS) * time.Millisecond
	if r.OK {
		s.Output = rawOrNil(r.Output)
	}
	if i < len(l.Trace) {
		t := &l.Trace[i]
		s.Trace = tool.Trace{Decisions: t.Decisions, HandlerRan: t.HandlerRan, Fingerprint: t.Fingerprint, Fault: t.Fault, ListChanged: t.ListChanged}
		s.Effects = t.Effects
	}
	for j := range r.Attempts {
		if j < len(r.Attempts)-1 {
			s.Attempts = append(s.Attempts, r.Attempts[j].attempt())
		} else {
			s.Attempts = append(s.Attempts, eval.Attempt{Result: s.Result, Next: r.Attempts[j].next()})
		}
	}
	return s
}

// expect puts into an expectation what a grade was asked for.
func expect(e *dataset.Expectation, name string, expected json.RawMessage, steps int) {
	read := func(into any) { _ = json.Unmarshal(expected, into) } // of another type it was not asked for
	switch name {
	case "ok":
		read(&e.OK)
	case "side_effect_count":
		read(&e.SideEffectCount)
	case "accepted":
		read(&e.Accepted)
	case "error_code":
		read(&e.ErrorCode)
	case "replayed":
		read(&e.Replayed)
	}
	number, grader, ofStep := strings.Cut(strings.TrimPrefix(name, "step "), " ")
	step, err := strconv.Atoi(number)
	if !ofStep || err != nil || step < 1 || step > steps || grader != "replayed" {
		return
	}
	if e.Steps == nil {
		e.Steps = make([]*dataset.StepExpectation, steps)
	}
	e.Steps[step-1] = new(dataset.StepExpectation)
	read(&e.Steps[step-1].Replayed)
}
