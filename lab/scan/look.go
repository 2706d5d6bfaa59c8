package scan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"agentlab/lab/boundary"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
	"agentlab/lab/tool"
)

// look is the look at one tool.
type look struct {
	scan    *Settings
	surface tool.Surface
	report  *Report
	tool    *Tool
	d       tool.Definition
	sure    string // whose word there is that the tool only reads; empty for nobody's

	session            tool.Observed // nil where another has to be opened
	losses, unanswered int
	fits               func(arguments object) bool // the tool's own schema
	made               map[string]bool             // the arguments of all calls
	errors             map[string]bool             // those that valid calls got
	formats            int                         // calls with a value of a wrong format
}

// object is a decoded JSON object.
type object = map[string]any

// errEnough ends the look at a tool.
var errEnough = errors.New("it was looked at enough")

func (l *look) unlooked(format string, args ...any) {
	l.tool.Unlooked = append(l.tool.Unlooked, fmt.Sprintf(format, args...))
}

func (l *look) find(code Code, arguments json.RawMessage, answer, format string, args ...any) {
	l.report.find(code, l.d.Name, arguments, answer, fmt.Sprintf(format, args...))
}

// look makes the calls of one tool. An error is why it came to no end.
func (l *look) look(ctx context.Context) (err error) {
	defer func() {
		err = errors.Join(err, l.close(ctx))
		if errors.Is(err, errEnough) {
			err = nil
		}
	}()
	l.schemas()
	base, err := boundary.Plain(l.d)
	if err != nil {
		if invalid := (*schema.Error)(nil); !errors.As(err, &invalid) {
			l.unlooked("anything: no call could be made of its inputSchema (%s)", tool.Cut(err.Error(), maxAnswer))
		}
		return nil
	}
	if known, ok := l.scan.Known[l.d.Name]; ok && l.takes(known.Arguments) {
		l.tool.Case, base = known.Case, known.Arguments
	}
	if err := l.valid(ctx, base); err != nil {
		return err
	}
	return l.probes(ctx, base)
}

// takes reports whether the tool's own schema takes arguments.
func (l *look) takes(arguments json.RawMessage) bool {
	decoded, err := jsonvalue.Decode(arguments)
	members, ok := decoded.(object)
	return err == nil && ok && l.fits != nil && l.fits(members)
}

// schemas compiles what the tool promises.
func (l *look) schemas() {
	for _, s := range []struct {
		name     string
		document json.RawMessage
	}{{"inputSchema", l.d.InputSchema}, {"outputSchema", l.d.OutputSchema}} {
		if s.document == nil {
			continue
		}
		compiled, err := schema.CompileForeign(s.document, schema.Draft202012)
		var broken *schema.Error
		switch {
		case errors.As(err, &broken) && broken.Unsupported:
			l.unlooked("its %s: %s", s.name, tool.Cut(err.Error(), maxAnswer))
		case err != nil:
			l.find(SchemaUnusable, nil, "", "Its %s is none: %s.", s.name, tool.Cut(err.Error(), maxAnswer))
		case s.name == "inputSchema":
			l.fits = func(arguments object) bool { return len(compiled.Validate(arguments)) == 0 }
		}
	}
}

// valid makes the plain call, and with it what needs one that succeeds.
func (l *look) valid(ctx context.Context, plain json.RawMessage) error {
	decoded, err := jsonvalue.Decode(plain)
	if err != nil {
		return err
	}
	base, _ := decoded.(object)
	if l.sure == "" && l.scan.Writes {
		return l.repeat(ctx, base)
	}
	r, _, err := l.call(ctx, plain)
	if err != nil {
		return err
	}
	l.came(r)
	return l.pages(ctx, base)
}

// came notes what came of the plain call.
func (l *look) came(r *tool.Result) {
	switch {
	case r == nil:
		l.tool.Plain = Lost
	case carriedOut(r):
		l.tool.Plain = Succeeded
	default:
		l.tool.Plain = Failed
	}
	l.noteError(r)
}

// carriedOut reports whether a tool did what it was asked.
func carriedOut(r *tool.Result) bool {
	if r.Error != nil {
		return r.Error.Code == tool.InvalidToolOutput && r.Reply != nil && !r.Reply.IsError
	}
	return objectFailed(r) == "" && textFailed(r) == ""
}

// call makes one call and judges what can be said of any. The result is nil where
// there was none; an error ends the look at the tool.
func (l *look) call(ctx context.Context, arguments json.RawMessage) (*tool.Result, []tool.Effect, error) {
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case l.tool.Calls >= l.scan.PerTool:
		l.unlooked("what more calls would show (--per-tool %d)", l.scan.PerTool)
		return nil, nil, errEnough
	case l.losses >= maxLosses || l.unanswered >= maxUnanswered:
		l.unlooked("what more calls would show: it has ended or ignored %d of them", l.losses+l.unanswered)
		return nil, nil, errEnough
	}
	if err := l.open(ctx); err != nil {
		return nil, nil, err
	}
	limited, cancel := context.WithTimeout(ctx, l.scan.CallTime)
	defer cancel()
	l.tool.Calls++
	l.made[string(arguments)] = true
	r := l.session.Call(limited, tool.Call{Proposal: tool.Proposal{Name: l.d.Name, Arguments: arguments}})
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if lost := l.session.Lost(); lost != nil {
		l.losses++
		l.find(ConnectionLost, arguments, "", "In the middle of a call %s.", reason(lost))
		return nil, nil, l.closeSession()
	}
	if limited.Err() != nil || r.Error != nil && r.Error.Code == tool.ToolTimeout {
		l.unanswered++
		l.find(NoAnswer, arguments, "", "The server did not answer within %s.", l.scan.CallTime)
		effects, err := l.observe(ctx)
		l.changed(arguments, "", effects)
		return nil, nil, errors.Join(err, l.closeSession())
	}
	l.judge(arguments, &r)
	effects, err := l.observe(ctx)
	l.changed(arguments, begins(&r), effects)
	return &r, effects, err
}

// judge looks at an answer by itself.
func (l *look) judge(arguments json.RawMessage, r *tool.Result) {
	if r.Reply != nil {
		l.tool.Largest = max(l.tool.Largest, r.Reply.Bytes)
		if r.Reply.Bytes > l.scan.MaxOutput+echo(arguments) {
			l.find(OutputTooLarge, arguments, begins(r), "An answer has %d bytes; the limit is %d.", r.Reply.Bytes, l.scan.MaxOutput)
		}
	}
	switch e := r.Error; {
	case e == nil:
		if how := objectFailed(r); how != "" {
			l.find(ErrorWithoutFlag, arguments, begins(r), "The object of an answer without isError says %s.", how)
		} else if how := textFailed(r); how != "" {
			l.find(SuccessLikeError, arguments, begins(r), "The text of an answer without isError begins with %q.", how)
		}
	case e.Code == tool.ProtocolError && r.Reply == nil && !rpcError(e):
		l.find(AnswerUnreadable, arguments, "", "%s", e.Message)
	case e.Code == tool.InvalidToolOutput && !r.Reply.IsError:
		if text, missing := violation(e); missing {
			l.find(OutputMissing, arguments, begins(r), "The tool has an outputSchema, and its answer no structuredContent.")
		} else {
			l.find(OutputBroken, arguments, begins(r), "Of the structuredContent: %s.", strings.TrimSuffix(text, "."))
		}
	default:
		if why := unactionable(r); why != "" {
			l.find(ErrorNotActionable, arguments, begins(r), "Of an error: %s.", why)
		}
	}
}

// echo is how much of an answer a call has itself to answer for: who sends much gets
// much back.
func echo(arguments json.RawMessage) int {
	const small, times = 1000, 5
	if len(arguments) < small {
		return 0
	}
	return times * len(arguments)
}

// changed holds a tool to the word that there is for it.
func (l *look) changed(arguments json.RawMessage, answer string, effects []tool.Effect) {
	if l.sure == "" || len(effects) == 0 {
		return
	}
	l.find(ReadChanged, arguments, answer, "Though %s says that the tool only reads, %s.", l.sure, listed(effects))
}

// maxEffects is how many changes a sentence names.
const maxEffects = 3

func listed(effects []tool.Effect) string {
	var texts []string
	for i, e := range effects {
		if i == maxEffects {
			texts = append(texts, fmt.Sprintf("and %d more changes", len(effects)-i))
			break
		}
		texts = append(texts, fmt.Sprintf("%s was %s", tool.Cut(e.Resource, 100), e.Change))
	}
	return strings.Join(texts, ", ")
}

// open opens a session where there is none.
func (l *look) open(ctx context.Context) error {
	if l.session != nil {
		return nil
	}
	session, err := l.surface.Open(ctx)
	if err != nil {
		return err
	}
	observed, ok := session.(tool.Observed)
	if !ok {
		return errors.Join(errors.New("its sessions are not looked at"), session.Close())
	}
	l.session = observed
	return nil
}

func (l *look) observe(ctx context.Context) ([]tool.Effect, error) {
	effects, err := l.session.Observe(ctx)
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("what the calls change: %s", reason(err))
	}
	return effects, err
}

func (l *look) closeSession() error {
	session := l.session
	l.session = nil
	return session.Close()
}

// close waits for what the server writes when it ends, and ends it.
func (l *look) close(ctx context.Context) error {
	if l.session == nil {
		return nil
	}
	if l.session.Lost() == nil && ctx.Err() == nil {
		// What cannot be looked at any more tells nothing.
		if effects, err := l.session.Settle(ctx); err == nil && len(effects) > 0 {
			l.changed(nil, "", effects)
		}
	}
	return l.closeSession()
}
