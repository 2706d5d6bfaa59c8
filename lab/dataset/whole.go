package dataset

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// list is one list of proposals of a case, and how a fault names it.
type list struct {
	name      string
	proposals []Proposal
}

// lists are the different lists of a case.
func (c *Case) lists() []list {
	switch {
	case c.Calls != nil:
		lists := make([]list, len(c.Calls))
		for i, of := range c.Calls {
			lists[i] = list{"calls." + plainName(of.Surface), of.Proposals}
		}
		return lists
	case c.Stage != nil && len(c.Baseline) > 0 && &c.Baseline[0] == &c.Candidate[0]:
		return []list{{"proposals", c.Baseline}}
	}
	return []list{{"baseline_calls", c.Baseline}, {"candidate_calls", c.Candidate}}
}

// whole finds what no member of a case shows by itself, and what the JSON
// Schema cannot say.
func (r *lineReader) whole(c *Case) {
	if c.Permissions == nil {
		c.Permissions = []string{}
	}
	lists := c.lists()
	most, least := 0, MaxProposals
	for _, l := range lists {
		r.list(c, l)
		most, least = max(most, len(l.proposals)), min(least, len(l.proposals))
	}
	if c.Expected.Steps != nil {
		c.stage()
		if n := len(c.Expected.Steps); n != most || n != least {
			r.fault("expected.steps", fmt.Sprintf("has %d steps, but not each surface is given as many proposals", n))
		}
	}
	if c.Expected.State != nil {
		c.stage()
	}
	if c.Stage != nil {
		for i, a := range c.Stage.Approvals {
			if a.Call == nil && a.Proposal >= least {
				r.fault(fmt.Sprintf("approvals[%d].proposal", i), "there is no such proposal; the first is 0")
			}
		}
	}
	if c.Calls != nil && r.settings != nil {
		r.assign(c)
	}
}

// list looks at the proposals of one list together.
func (r *lineReader) list(c *Case, l list) {
	var latest time.Duration
	for i := range l.proposals {
		setting := l.proposals[i].Setting
		if setting == nil {
			continue
		}
		c.stage()
		if setting.At == nil {
			continue
		}
		if *setting.At < latest {
			r.fault(fmt.Sprintf("%s[%d].at_ms", l.name, i), "is before that of an earlier proposal")
		}
		latest = *setting.At
	}
}

// assign gives the surfaces that are replayed what the case has for them.
func (r *lineReader) assign(c *Case) {
	for _, of := range c.Calls {
		if known := r.settings.Surfaces; known != nil && !slices.Contains(known, of.Surface) {
			r.fault("calls."+plainName(of.Surface), "there is no surface of that name; there are "+namesOf(known))
		}
	}
	find := func(surface string) []Proposal {
		for _, of := range c.Calls {
			if of.Surface == surface {
				return of.Proposals
			}
		}
		r.fault("calls."+plainName(surface), "missing, and this surface is replayed")
		return nil
	}
	if r.settings.Candidate == "" {
		return
	}
	c.Candidate = find(r.settings.Candidate)
	switch r.settings.Baseline {
	case "":
	case r.settings.Candidate:
		c.Baseline = c.Candidate
	default:
		c.Baseline = find(r.settings.Baseline)
	}
}

// namesOf lists names for a person, each once and sorted.
func namesOf(names []string) string {
	plain := make([]string, len(names))
	for i, name := range names {
		plain[i] = plainName(name)
	}
	slices.Sort(plain)
	return strings.Join(slices.Compact(plain), ", ")
}
