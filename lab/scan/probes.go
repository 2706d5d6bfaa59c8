package scan

import (
	"context"
	"encoding/json"

	"agentlab/lab/boundary"
	"agentlab/lab/tool"
)

// probes makes calls on both sides of what the schema says, each the base call
// changed in one place, as many as there is room for.
func (l *look) probes(ctx context.Context, base json.RawMessage) error {
	room := l.scan.PerTool - l.tool.Calls
	if room <= 0 {
		return nil
	}
	most := room + 1 // the base call is among them
	set, err := boundary.Probes(l.d, boundary.ProbeOptions{Base: base, Foreign: true, Max: most})
	if err != nil {
		l.unlooked("calls on both sides of its inputSchema: none could be made (%s)", tool.Cut(err.Error(), maxAnswer))
		return nil
	}
	var refused []refusal
	defer func() { l.tally(refused) }()
	// Those that are valid come last: one of them may well ask for too much.
	for _, valid := range []bool{false, true} {
		for _, p := range set.Probes {
			if p.Valid != valid || p.Ambiguous || l.made[string(p.Arguments)] {
				continue // most readers of JSON choose a reading before the server sees any
			}
			if l.tool.Calls == l.scan.PerTool {
				break
			}
			r, _, err := l.call(ctx, p.Arguments)
			switch {
			case err != nil:
				return err
			case valid:
				l.noteError(r)
			case r == nil || !carriedOut(r):
				refused = append(refused, refusalOf(p, r))
			default:
				l.accepted(p, r)
			}
		}
	}
	if len(set.Probes) == most {
		l.unlooked("more calls on both sides of its inputSchema (--per-tool %d)", l.scan.PerTool)
	}
	return nil
}

// accepted notes a call that was carried out though the schema forbids it.
func (l *look) accepted(p boundary.Probe, r *tool.Result) {
	code := InvalidAccepted
	if p.Keyword == formatKeyword {
		code = FormatIgnored
		l.formats++
	} else {
		l.tool.Invalid++
		l.tool.Accepted++
	}
	l.find(code, p.Arguments, begins(r), "It carried out a call %s.", p.Words)
}

const formatKeyword = "format"

// refusal is a call that the schema forbids and that was not carried out.
type refusal struct {
	format bool
	said   string // with what error; empty where there was no answer
}

func refusalOf(p boundary.Probe, r *tool.Result) refusal {
	c := refusal{format: p.Keyword == formatKeyword}
	if r != nil {
		c.said = said(r)
	}
	return c
}

// noteError keeps the error of a valid call: it is not about arguments.
func (l *look) noteError(r *tool.Result) {
	if r != nil && !carriedOut(r) {
		l.errors[said(r)] = true
	}
}

// tally counts what was refused. A call that got the same error as a valid one, such
// as that a file is not there, need not have been refused for what is wrong with it.
func (l *look) tally(refused []refusal) {
	unclear := 0
	for _, c := range refused {
		switch {
		case c.said != "" && l.errors[c.said]:
			unclear++
		case c.format:
			l.formats++
		default:
			l.tool.Invalid++
		}
	}
	l.report.of(InvalidAccepted, l.d.Name, l.tool.Invalid)
	l.report.of(FormatIgnored, l.d.Name, l.formats)
	if unclear > 0 {
		l.unlooked("whether it refuses %d of the calls that its inputSchema forbids: they got the error of a valid one", unclear)
	}
}
