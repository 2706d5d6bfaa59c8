package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"agentlab/lab/dataset"
	"agentlab/lab/generate"
	"agentlab/lab/governed"
	"agentlab/lab/mutation"
	"agentlab/lab/report"
	"agentlab/lab/sandbox"
)

// newFile is an error where a file cannot be written without writing over another.
func newFile(file string) error {
	if _, err := os.Lstat(file); err == nil {
		return usageError(fmt.Errorf("%s is there already; name another file", file))
	}
	if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		return usageError(fmt.Errorf("%s: there is no such folder", filepath.Dir(file)))
	}
	return nil
}

// write writes the cases that would notice the survivors.
func (o *mutate) write(ctx context.Context, stderr io.Writer, plan mutation.Plan, servers []*sandbox.Surface, matrix *mutation.Matrix) error {
	lines, err := o.suggest(ctx, plan, servers, matrix)
	if err != nil {
		return err
	}
	said := "no case was generated that would notice a survivor, so " + o.writeCases + " was not written"
	if n := bytes.Count(lines, []byte("\n")); n > 0 {
		if err := writeFiles([]string{o.writeCases}, lines); err != nil {
			return couldNotRun(err)
		}
		said = o.writeCases + ": " + report.Counted(n, "case") + " that would notice survivors"
	}
	if !o.quiet {
		fmt.Fprintln(stderr, report.Visible(said))
	}
	return nil
}

// suggest looks for generated cases that would kill the survivors, names one in the
// outcome of each, and returns them as lines of a dataset.
func (o *mutate) suggest(ctx context.Context, plan mutation.Plan, servers []*sandbox.Surface, matrix *mutation.Matrix) ([]byte, error) {
	survivors := make(map[group][]int) // outcomes, by what is weakened
	var order []group
	for i, outcome := range matrix.Outcomes {
		if outcome.Status != mutation.Survived && outcome.Status != mutation.NoCoverage {
			continue
		}
		g := group{outcome.Tool, outcome.Control}
		if survivors[g] == nil {
			order = append(order, g)
		}
		survivors[g] = append(survivors[g], i)
	}
	if len(order) == 0 {
		return nil, nil
	}
	set, err := o.generated(ctx, plan, servers)
	if err != nil {
		return nil, err
	}
	cases, err := read(ctx, set, plan.Subject.Name())
	if err != nil {
		return nil, err
	}
	chosen := make(map[int]bool)
	for _, g := range order {
		left := survivors[g]
		// A case of the very clause comes first; one of another may notice as well.
		for _, near := range []func(int) bool{
			func(i int) bool { return g.covers(set.Cases[i].Clause) },
			func(i int) bool { return chosen[i] },
			func(i int) bool { return g.tool == set.Cases[i].Tool && !g.covers(set.Cases[i].Clause) },
		} {
			if left, err = o.seek(ctx, plan.Subject, matrix, left, cases, near, chosen); err != nil {
				return nil, err
			}
		}
	}
	var lines bytes.Buffer
	for i, c := range set.Cases {
		if chosen[i] {
			lines.Write(c.Line)
			lines.WriteByte('\n')
		}
	}
	return lines.Bytes(), nil
}

// group is what a mutant weakens: a control, of one tool or of all.
type group struct{ tool, control string }

// covers reports whether a clause is of the group.
func (g group) covers(clause string) bool {
	if g.tool != "" {
		return strings.HasPrefix(clause, g.tool+" "+g.control+" ")
	}
	return strings.Contains(clause, " "+g.control+" ")
}

// seek names, of the cases that are near, one that kills each of some survivors. It
// returns those that none kills.
func (o *mutate) seek(ctx context.Context, subject mutation.Subject, matrix *mutation.Matrix, survivors []int, cases []*dataset.Case, near func(int) bool, chosen map[int]bool) ([]int, error) {
	var index []int
	var some []*dataset.Case
	for i, c := range cases {
		if c.Todo == "" && near(i) {
			index, some = append(index, i), append(some, c)
		}
	}
	if len(some) == 0 || len(survivors) == 0 {
		return survivors, nil
	}
	wanted := make([]mutation.Mutant, len(survivors))
	for i, at := range survivors {
		wanted[i] = matrix.Outcomes[at].Mutant
	}
	found, err := mutation.Seek(ctx, subject, wanted, some)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, couldNotRun(err)
	}
	var left []int
	for _, at := range survivors {
		i, ok := found[matrix.Outcomes[at].ID]
		if !ok {
			left = append(left, at)
			continue
		}
		chosen[index[i]] = true
		matrix.Outcomes[at].Suggested = cases[index[i]].ID
	}
	return left, nil
}

// generated are the cases that follow from the contracts of the subject.
func (o *mutate) generated(ctx context.Context, plan mutation.Plan, servers []*sandbox.Surface) (*generate.Set, error) {
	var known []generate.Known
	for _, c := range plan.Cases {
		known = append(known, generate.KnownCalls(c)...)
	}
	var source generate.Source
	var err error
	if _, ok := plan.Subject.(*governed.Surface); ok {
		server := servers[len(servers)-1]
		source, err = behind(o.overlaid, server.Name(), o.before, server.Definitions(), known)
	} else {
		source, err = ofBuiltin(ctx, plan.Subject, known)
	}
	if err != nil {
		return nil, err
	}
	set, err := generate.Cases(ctx, source, generate.Options{Seed: 1, Schema: true, Runtime: true})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, couldNotRun(err)
	}
	return set, nil
}

// ofBuiltin is a source of a built-in surface behind a registry: its backend is made
// up, and may be asked.
func ofBuiltin(ctx context.Context, surface mutation.Subject, known []generate.Known) (generate.Source, error) {
	contracts, err := complete(surface.Contracts())
	if err != nil {
		return generate.Source{}, couldNotRun(err)
	}
	session, err := surface.Open(ctx)
	if err != nil {
		return generate.Source{}, couldNotRun(err)
	}
	defer session.Close()
	return generate.Source{Contracts: contracts, Reach: generate.ReachOf(session), Trial: surface, Known: known}, nil
}

// read decodes generated cases, in their order.
func read(ctx context.Context, set *generate.Set, candidate string) ([]*dataset.Case, error) {
	var text bytes.Buffer
	for _, c := range set.Cases {
		text.Write(c.Line)
		text.WriteByte('\n')
	}
	var cases []*dataset.Case
	source := dataset.Source{Name: "generated", Path: "generated", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(text.Bytes())), nil
	}}
	_, err := dataset.Settings{Candidate: candidate}.Open(source).Check(ctx, func(c *dataset.Case) { cases = append(cases, c) })
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, couldNotRun(err)
	case len(cases) != len(set.Cases):
		return nil, couldNotRun(errors.New("the generated cases cannot be read back"))
	}
	return cases, nil
}
