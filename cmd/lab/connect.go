package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/sandbox"
	"agentlab/lab/suite"
	"agentlab/lab/tool"
)

// chosen are the surfaces of a suite that are replayed: the baseline, where
// there is one, and the candidate.
func (o *planning) chosen(cmd *cobra.Command, s *suite.Suite) ([]suite.Surface, error) {
	names := []string{s.Baseline, s.Candidate}
	for i, flag := range []string{"baseline", "candidate"} {
		if isSet(cmd, flag) {
			names[i] = cmd.Flag(flag).Value.String()
		}
	}
	if o.weakened {
		names[0] = ""
	}
	if names[0] == names[1] {
		return nil, usageError(fmt.Errorf("%s is both the baseline and the candidate", names[0]))
	}
	var chosen []suite.Surface
	for _, name := range names {
		if name == "" {
			continue
		}
		surface, err := surfaceOf(s, name)
		if err != nil {
			return nil, err
		}
		if o.weakened && surface.Contract == "" {
			return nil, noContract(name)
		}
		chosen = append(chosen, surface)
	}
	return chosen, nil
}

func surfaceOf(s *suite.Suite, name string) (suite.Surface, error) {
	surface, ok := s.Surface(name)
	if !ok {
		return suite.Surface{}, usageError(fmt.Errorf("there is no surface %q in the suite file; there are %s", name, strings.Join(namesOf(s.Surfaces), ", ")))
	}
	return surface, nil
}

func namesOf(surfaces []suite.Surface) []string {
	names := make([]string, len(surfaces))
	for i, s := range surfaces {
		names[i] = s.Name
	}
	return names
}

// shared reports whether two cases at once would meet in what a surface works
// on: nothing of it is in the sandbox of a case.
func shared(s suite.Surface) bool {
	return s.Server.URL != "" || slices.ContainsFunc(s.Effects, func(e suite.Effect) bool {
		switch e := e.(type) {
		case suite.Directory:
			return !strings.HasPrefix(e.Path, suite.SandboxVariable)
		case suite.SQLite:
			return !strings.HasPrefix(e.Path, suite.SandboxVariable)
		case suite.Command:
			return !slices.ContainsFunc(e.Args, func(arg string) bool { return strings.Contains(arg, suite.SandboxVariable) })
		case suite.Call:
			return e.Server != nil && (e.Server.URL != "" || !namesSandbox(e.Server))
		}
		return true
	})
}

// namesSandbox reports whether a server is given the sandbox.
func namesSandbox(s *suite.Server) bool {
	holds := func(text string) bool { return strings.Contains(text, suite.SandboxVariable) }
	return slices.ContainsFunc(s.Command, holds) || slices.ContainsFunc(slices.Collect(maps.Values(s.Env)), holds)
}

// arrangesFaults reports whether a case wants something to go wrong behind a call.
func arrangesFaults(c *dataset.Case) bool {
	return slices.ContainsFunc(slices.Concat(c.Baseline, c.Candidate), func(p dataset.Proposal) bool {
		return p.Setting != nil && p.Fault != (tool.Fault{})
	})
}

// planForeign checks every line of every dataset, and that there is something to
// replay, and only then connects to the servers.
func (o *planning) planForeign(ctx context.Context, cmd *cobra.Command, s *suite.Suite, dir string, selected *selection) (plan eval.Plan, servers []*sandbox.Surface, err error) {
	chosen, err := o.chosen(cmd, s)
	if err != nil {
		return eval.Plan{}, nil, err
	}
	laid, err := readContracts(ctx, chosen, o.foreign.file)
	if err != nil {
		return eval.Plan{}, nil, err
	}
	o.overlaid = laid[len(laid)-1]
	if name := chosen[len(chosen)-1].Name; s.Baseline != name {
		o.before = s.Baseline
	}
	files := s.Cases
	if o.cases != nil {
		files = o.cases
	}
	sources, err := twice(ctx, files)
	if err != nil {
		return eval.Plan{}, nil, err
	}
	settings := dataset.Settings{Surfaces: namesOf(s.Surfaces), Candidate: chosen[len(chosen)-1].Name, BatchLines: 1}
	if len(chosen) == 2 {
		settings.Baseline = chosen[0].Name
	}
	cases := settings.Open(sources...)
	ready, todo := 0, 0
	var stateless, faulted []string // cases that ask for what only the built-in surfaces tell, or do
	calls := make([]wanted, len(chosen))
	for i := range calls {
		calls[i] = make(wanted)
	}
	_, err = cases.Check(ctx, func(c *dataset.Case) {
		switch {
		case o.patterns != nil && !selected.selects(c.ID):
		case c.Expected.State != nil:
			stateless = append(stateless, c.ID)
		case arrangesFaults(c):
			faulted = append(faulted, c.ID)
		case c.Todo != "":
			todo++
		default:
			ready++
			calls[len(calls)-1].add(c.Candidate)
			if len(calls) == 2 {
				calls[0].add(c.Baseline)
			}
		}
	})
	switch {
	case ctx.Err() != nil:
		return eval.Plan{}, nil, ctx.Err()
	case err != nil:
		return eval.Plan{}, nil, replayError(err, selected)
	case stateless != nil:
		return eval.Plan{}, nil, usageError(fmt.Errorf("expected.state is for the built-in surfaces, as nobody knows the state of a server outside; count what changes by effects (%s)", strings.Join(first(stateless, maxUnlisted), ", ")))
	case faulted != nil:
		return eval.Plan{}, nil, usageError(fmt.Errorf("faults are for the built-in surfaces, as nobody can make a server outside go wrong; an answer is lost where the timeout of a contract is shorter than the server takes (%s)", strings.Join(first(faulted, maxUnlisted), ", ")))
	case selected.idle() != nil:
		return eval.Plan{}, nil, usageError(selected.idle())
	case ready == 0 && todo > 0:
		return eval.Plan{}, nil, usageError(eval.ErrOnlyTodo)
	}
	if plan, err = o.plan(cases, selected, cmd.ErrOrStderr()); err != nil {
		return eval.Plan{}, nil, err
	}
	if slices.ContainsFunc(chosen, shared) {
		if o.workers > 1 {
			return eval.Plan{}, nil, usageError(fmt.Errorf("--workers %d: cases that share a server at a URL, or effects outside the sandbox, can only be replayed one at a time", o.workers))
		}
		plan.Workers = 1
	}
	notice := notices(cmd.ErrOrStderr())
	if o.quiet {
		notice = nil
	}
	faults := notice
	if o.weakened {
		faults = nil // a mutant is expected to break something
	}
	if servers, err = o.open(ctx, chosen, s, dir, notice); err != nil {
		return eval.Plan{}, nil, errors.Join(err, closeAll(servers))
	}
	surfaces := make([]tool.Surface, len(servers))
	for i, server := range servers {
		if surfaces[i], err = laid[i].over(server, s.Timeout, notice, faults); err != nil {
			return eval.Plan{}, nil, errors.Join(err, closeAll(servers))
		}
		if server.Down() != nil {
			continue
		}
		said, err := calls[i].unlisted(server.Name(), surfaces[i].Definitions(), o.patterns != nil)
		if err != nil {
			return eval.Plan{}, nil, errors.Join(err, closeAll(servers))
		}
		if said != "" && notice != nil {
			notice(said)
		}
	}
	plan.Candidate = surfaces[len(surfaces)-1]
	if len(surfaces) == 2 {
		plan.Baseline = surfaces[0]
	}
	return plan, servers, nil
}

// open connects to the servers, all at once.
func (o *planning) open(ctx context.Context, chosen []suite.Surface, s *suite.Suite, dir string, notice func(string)) ([]*sandbox.Surface, error) {
	servers := make([]*sandbox.Surface, len(chosen))
	errs := make([]error, len(chosen))
	var group sync.WaitGroup
	for i, spec := range chosen {
		group.Go(func() {
			servers[i], errs[i] = sandbox.Open(ctx, spec, sandbox.Settings{
				Version:     eval.Version,
				Dir:         dir,
				Isolation:   s.Isolation,
				Timeout:     s.Timeout,
				StrictStdio: o.foreign.strict,
				Notice:      notice,
			})
		})
	}
	group.Wait()
	servers = slices.DeleteFunc(servers, func(s *sandbox.Surface) bool { return s == nil })
	if ctx.Err() != nil {
		return servers, ctx.Err()
	}
	if err := errors.Join(errs...); err != nil {
		return servers, couldNotRun(err)
	}
	return servers, nil
}

func closeAll(servers []*sandbox.Surface) error {
	errs := make([]error, len(servers))
	var group sync.WaitGroup
	for i, s := range servers {
		group.Go(func() { errs[i] = s.Close() })
	}
	group.Wait()
	return errors.Join(errs...)
}

// twice are sources that can be read twice: what is no regular file is read into
// memory.
func twice(ctx context.Context, files []string) ([]dataset.Source, error) {
	sources := make([]dataset.Source, len(files))
	for i, file := range files {
		sources[i] = dataset.Source{Name: filepath.Base(file), Path: file, Open: openOnce(ctx, file)}
		if info, err := os.Stat(file); err != nil || info.Mode().IsRegular() {
			// Each time anew: openOnce tells a pipe by its second opening.
			sources[i].Open = unchanged(ctx, file)
			continue
		}
		text, err := whole(sources[i].Open)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, usageError(fmt.Errorf("%w: %s: %w", dataset.ErrUnreadable, file, err))
		}
		sources[i].Open = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
	}
	return sources, nil
}

// unchanged returns a function that opens a file as often as it is the one that it
// was: nothing of a file that was replaced since it was checked may be called.
func unchanged(ctx context.Context, name string) func() (io.ReadCloser, error) {
	var first os.FileInfo
	return func() (io.ReadCloser, error) {
		opened, err := openUntil(ctx, name)
		if err != nil {
			return nil, err
		}
		now, err := os.Stat(name)
		switch {
		case err != nil:
			opened.Close()
			return nil, err
		case first == nil:
			first = now
		case !os.SameFile(first, now) || first.Size() != now.Size() || !first.ModTime().Equal(now.ModTime()):
			opened.Close()
			return nil, fmt.Errorf("%s: %w", name, dataset.ErrChanged)
		}
		return opened, nil
	}
}

// maxPiped is how much is read of a pipe, which has to be kept.
const maxPiped = 64 << 20

func whole(open func() (io.ReadCloser, error)) (string, error) {
	in, err := open()
	if err != nil {
		return "", err
	}
	defer in.Close()
	var text strings.Builder
	if n, err := io.Copy(&text, io.LimitReader(in, maxPiped+1)); err != nil {
		return "", err
	} else if n > maxPiped {
		return "", fmt.Errorf("more than %d bytes come out of it", maxPiped)
	}
	return text.String(), nil
}
