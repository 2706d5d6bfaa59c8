package eval

// tally is what the cases of one batch add to the comparison.
type tally struct {
	cases, todo               int
	baseline, candidate       Summary
	improvements, regressions []string
	operations                operations
	notRun                    []NotRun // the first of them
	todos                     []Todo   // the first of them
}

func (t *tally) count(pair *Pair) {
	if pair.Case.Todo != "" {
		t.todo++
		if len(t.todos) < MaxTold {
			t.todos = append(t.todos, Todo{pair.Case.ID, pair.Case.Todo})
		}
		return
	}
	t.cases++
	t.operations.count(pair)
	if pair.Baseline != nil {
		t.baseline.count(pair.Baseline)
		t.tell(pair.Baseline)
	}
	t.candidate.count(&pair.Candidate)
	t.tell(&pair.Candidate)
	if pair.Baseline == nil || !pair.Baseline.Ran() || !pair.Candidate.Ran() {
		return
	}
	switch {
	case pair.Candidate.Passed && !pair.Baseline.Passed:
		t.improvements = append(t.improvements, pair.Case.ID)
	case pair.Baseline.Passed && !pair.Candidate.Passed:
		t.regressions = append(t.regressions, pair.Case.ID)
	}
}

// tell keeps what is known of a run that could not run.
func (t *tally) tell(run *Run) {
	if run.Unavailable != nil && len(t.notRun) < MaxTold {
		t.notRun = append(t.notRun, NotRun{run.Case.ID, run.Strategy, run.Unavailable})
	}
}

// Count adds a case that was replayed elsewhere, in dataset order.
func (c *Comparison) Count(pair *Pair) {
	var t tally
	t.count(pair)
	c.add(&t)
}

// anyCase is the error of a selection of which nothing can be replayed.
func anyCase(ready, todo int) error {
	switch {
	case ready > 0:
		return nil
	case todo > 0:
		return ErrOnlyTodo
	}
	return ErrNoCase
}

// Finish judges what all cases came to. It is an error if there were none that
// could be replayed, but of a shard, to which no case may have fallen.
func (c *Comparison) Finish(sha256 string) error {
	if c.Dataset.Shard == nil {
		if err := anyCase(c.Dataset.Cases, c.Dataset.Todo); err != nil {
			return err
		}
	}
	c.tellOperations()
	c.Dataset.SHA256 = sha256
	c.judge()
	return nil
}

// add adds the tally of the next batch.
func (c *Comparison) add(t *tally) {
	c.Dataset.Cases += t.cases
	c.Dataset.Todo += t.todo
	if c.Baseline != nil {
		c.Baseline.add(t.baseline)
	}
	c.Candidate.add(t.candidate)
	c.operations.add(&t.operations)
	for _, id := range t.improvements {
		c.Improvements.Add(id)
	}
	for _, id := range t.regressions {
		c.Regressions.Add(id)
	}
	c.NotRun = append(c.NotRun, t.notRun[:min(len(t.notRun), MaxTold-len(c.NotRun))]...)
	c.Todo = append(c.Todo, t.todos[:min(len(t.todos), MaxTold-len(c.Todo))]...)
}
