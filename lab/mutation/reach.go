package mutation

import (
	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/proposal"
	"agentlab/lab/tool"
)

// reached is a control that said something of a call of a tool; of any tool where
// that is empty.
type reached struct{ control, tool string }

// reach is what a run reaches: every control that did not skip one of its calls.
func reach(run *eval.Run, proposals []dataset.Proposal) map[reached]bool {
	all := make(map[reached]bool)
	for i := range run.Steps {
		name := nameOf(&proposals[i])
		note := func(trace tool.Trace) {
			for _, d := range trace.Decisions {
				if d.Verdict != tool.Skip {
					all[reached{d.Control, ""}] = true
					all[reached{d.Control, name}] = true
				}
			}
		}
		note(run.Steps[i].Trace)
		for _, a := range run.Steps[i].Attempts {
			note(a.Trace)
		}
	}
	return all
}

// nameOf is the tool that a proposal names, also where that stands in a model's
// output. One that cannot be read names none.
func nameOf(p *dataset.Proposal) string {
	if p.Setting == nil || p.Raw == nil {
		return p.Name
	}
	read := proposal.Read
	if p.Format != "" {
		read = func(text []byte) ([]tool.Proposal, error) { return proposal.ReadAs(proposal.Format(p.Format), text) }
	}
	if found, err := read([]byte(*p.Raw)); err == nil && len(found) == 1 {
		return found[0].Name
	}
	return ""
}
