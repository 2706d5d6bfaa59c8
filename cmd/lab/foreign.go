package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/process"
	"agentlab/lab/report"
	"agentlab/lab/sandbox"
	"agentlab/lab/suite"
	"agentlab/lab/tool"
)

// foreign is the part of a command line that asks for MCP servers.
type foreign struct {
	file         string
	builtin      bool
	config       string
	server       string
	candidateMCP string
	effects      []string
	timeout      time.Duration
	strict       bool
}

func (f *foreign) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.file, "file", "f", "", "replay the MCP servers of this suite `FILE` (default: lab.yaml, where there is one)")
	flags.BoolVar(&f.builtin, "builtin", false, "replay the built-in surfaces, though there is a lab.yaml")
	flags.StringVar(&f.candidateMCP, "candidate-mcp", "", "replay the MCP server that this `COMMAND` starts, alone")
	flags.StringVar(&f.config, "mcp-config", "", "replay an MCP server of this client configuration `FILE` ({mcpServers: ...}), alone")
	flags.StringVar(&f.server, "server", "", "the `NAME` of the server in --mcp-config")
	flags.StringArrayVar(&f.effects, "effects", nil, "count what changes: `PROBE` is dir:PATH, sqlite:FILE, http:URL, command:COMMAND, or none; repeatable (default: dir:${SANDBOX})")
	flags.DurationVar(&f.timeout, "timeout", suite.DefaultTimeout, "how long a server may take to start, and for each call")
	flags.BoolVar(&f.strict, "strict-stdio", false, "text on a server's standard output ends it, as the protocol has it")
	cmd.MarkFlagsMutuallyExclusive("file", "builtin", "candidate-mcp", "mcp-config")
	cmd.MarkFlagsRequiredTogether("mcp-config", "server")
}

// alone is the name of a surface that a flag makes.
const alone = "candidate"

// suite returns what is asked for, and the folder that commands run in; nil
// where the built-in surfaces are.
func (f *foreign) suite(cmd *cobra.Command) (*suite.Suite, string, error) {
	changed := func(name string) bool { return cmd.Flag(name).Changed }
	fromFlags := changed("candidate-mcp") || changed("mcp-config")
	if !fromFlags {
		for _, name := range []string{"effects", "timeout"} {
			if changed(name) {
				return nil, "", usageError(fmt.Errorf("--%s is for --candidate-mcp and --mcp-config; a suite file has a key for it", name))
			}
		}
		file := f.suiteFile(cmd)
		if file == "" {
			return nil, "", nil
		}
		s, err := untilDone(cmd.Context(), func() (*suite.Suite, error) { return suite.Read(file, os.LookupEnv) })
		return s, filepath.Dir(file), unreadable(err)
	}
	for _, name := range []string{"baseline", "candidate"} {
		if changed(name) {
			return nil, "", usageError(fmt.Errorf("--%s has nothing to choose from: the server of the flags is replayed alone", name))
		}
	}
	if !changed("cases") {
		return nil, "", usageError(errors.New("--cases is needed: the shipped cases are for the built-in surfaces"))
	}
	surface := suite.Surface{Name: alone}
	if changed("mcp-config") {
		if f.server == "" {
			return nil, "", usageError(errors.New("--server names no server"))
		}
		server, err := untilDone(cmd.Context(), func() (suite.Server, error) {
			return suite.ReadClientConfig(f.config, f.server, os.LookupEnv)
		})
		if err != nil {
			return nil, "", unreadable(err)
		}
		surface.Name, surface.Server = f.server, server
	} else {
		command, err := process.Split(f.candidateMCP)
		if err == nil && len(command) == 0 {
			err = errors.New("no program is named")
		}
		if err != nil {
			return nil, "", usageError(fmt.Errorf("--candidate-mcp: %w", err))
		}
		surface.Server.Command = command
	}
	var err error
	if surface.Effects, err = f.probes(&surface.Server); err != nil {
		return nil, "", err
	}
	if f.timeout < suite.MinTimeout || f.timeout > suite.MaxTimeout {
		return nil, "", usageError(fmt.Errorf("--timeout %s is not from %s to %s", f.timeout, suite.MinTimeout, suite.MaxTimeout))
	}
	return &suite.Suite{
		Surfaces:  []suite.Surface{surface},
		Candidate: surface.Name,
		Isolation: suite.PerCase,
		Timeout:   f.timeout,
	}, ".", nil
}

// suiteFile is the suite file that is asked for, or that lies about, unless a
// built-in surface is named.
func (f *foreign) suiteFile(cmd *cobra.Command) string {
	if f.file != "" || f.builtin {
		return f.file
	}
	for _, name := range []string{"baseline", "candidate"} {
		if flag := cmd.Flag(name); flag.Changed && slices.Contains(surfaceNames(), flag.Value.String()) {
			return ""
		}
	}
	if cmd.Flag("store").Changed {
		return ""
	}
	if _, err := os.Stat(suite.DefaultFile); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return suite.DefaultFile
}

// probes reads the flag --effects. A server that somebody else runs does not
// know the sandbox, so that nothing can be counted there unasked.
func (f *foreign) probes(server *suite.Server) ([]suite.Effect, error) {
	if len(f.effects) == 0 {
		if server.URL != "" {
			return nil, usageError(errors.New("--effects is needed: what a server at a URL changes can only be seen where you say; none counts nothing"))
		}
		return []suite.Effect{suite.Directory{Path: suite.SandboxVariable}}, nil
	}
	if len(f.effects) == 1 && f.effects[0] == "none" {
		return nil, nil
	}
	var effects []suite.Effect
	for _, flag := range f.effects {
		effect, err := suite.ParseEffect(flag, process.Split)
		if err != nil {
			return nil, usageError(fmt.Errorf("--effects %q: %w", flag, err))
		}
		effects = append(effects, effect)
	}
	return effects, nil
}

// untilDone returns what read does, or the error of ctx where that comes first:
// the file may be a pipe that nobody writes to.
func untilDone[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		value, err := read()
		answered <- answer{value, err}
	}()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// unreadable gives the error of an input file its exit code.
func unreadable(err error) error {
	var invalid *suite.Invalid
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &invalid):
		noun := "faults"
		if invalid.Total == 1 {
			noun = "fault"
		}
		return usageError(fmt.Errorf("the file has %d %s\n%w", invalid.Total, noun, err))
	}
	return usageError(err)
}

// chosen are the surfaces of a suite that are replayed: the baseline, where
// there is one, and the candidate.
func (o *toolEval) chosen(cmd *cobra.Command, s *suite.Suite) ([]suite.Surface, error) {
	names := []string{s.Baseline, s.Candidate}
	for i, flag := range []string{"baseline", "candidate"} {
		if f := cmd.Flag(flag); f.Changed {
			names[i] = f.Value.String()
		}
	}
	if names[0] == names[1] {
		return nil, usageError(fmt.Errorf("%s is both the baseline and the candidate", names[0]))
	}
	var chosen []suite.Surface
	for _, name := range names {
		if name == "" {
			continue
		}
		surface, ok := s.Surface(name)
		if !ok {
			return nil, usageError(fmt.Errorf("there is no surface %q in the suite file; there are %s", name, strings.Join(namesOf(s.Surfaces), ", ")))
		}
		chosen = append(chosen, surface)
	}
	return chosen, nil
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
			return e.Server != nil && e.Server.URL != ""
		}
		return true
	})
}

// notices are written to stderr, one at a time, from any goroutine.
func notices(stderr io.Writer) func(string) {
	var mu sync.Mutex
	return func(text string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(stderr, "lab: "+report.Visible(text))
	}
}

// planForeign checks every line of every dataset, and only then connects to the
// servers.
func (o *toolEval) planForeign(ctx context.Context, cmd *cobra.Command, s *suite.Suite, dir string, selected *selection) (plan eval.Plan, servers []*sandbox.Surface, err error) {
	chosen, err := o.chosen(cmd, s)
	if err != nil {
		return eval.Plan{}, nil, err
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
	if _, err := cases.Check(ctx, nil); err != nil {
		if ctx.Err() != nil {
			return eval.Plan{}, nil, ctx.Err()
		}
		return eval.Plan{}, nil, replayError(err, selected)
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
	if servers, err = o.open(ctx, chosen, s, dir, notice); err != nil {
		return eval.Plan{}, nil, errors.Join(err, closeAll(servers))
	}
	plan.Candidate = servers[len(servers)-1]
	if len(servers) == 2 {
		plan.Baseline = servers[0]
	}
	return plan, servers, nil
}

// open connects to the servers, all at once.
func (o *toolEval) open(ctx context.Context, chosen []suite.Surface, s *suite.Suite, dir string, notice func(string)) ([]*sandbox.Surface, error) {
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
			sources[i].Open = func() (io.ReadCloser, error) { return openUntil(ctx, file) }
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

// maxPiped is how much is read of a pipe, which has to be kept.
const maxPiped = 256 << 20

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

// tellStarts says on stderr how long servers took to start, which no report may
// hold.
func tellStarts(stderr io.Writer, servers []*sandbox.Surface) {
	for _, s := range servers {
		count, median, longest := s.Starts()
		if count == 0 {
			continue
		}
		noun := "starts"
		if count == 1 {
			noun = "start"
		}
		fmt.Fprintf(stderr, "%s: %d %s, %s in the middle, %s at most\n", report.Visible(s.Name()), count, noun,
			median.Round(time.Millisecond), longest.Round(time.Millisecond))
	}
}

// maxCauses is how many causes are told of runs that could not run.
const maxCauses = 10

// notRun is the error of runs that could not run, each cause once.
func notRun(c *eval.Comparison) error {
	type cause struct {
		*tool.Unavailable
		first string
		runs  int
	}
	var causes []*cause
	for _, n := range c.NotRun {
		at := slices.IndexFunc(causes, func(c *cause) bool { return c.Surface == n.Surface && c.Reason == n.Reason })
		if at < 0 {
			at = len(causes)
			causes = append(causes, &cause{n.Unavailable, n.CaseID, 0})
		}
		causes[at].runs++
	}
	var text strings.Builder
	runs := c.CouldNotRun()
	if runs == 1 {
		text.WriteString("1 run could not run")
	} else {
		fmt.Fprintf(&text, "%d runs could not run", runs)
	}
	for i, c := range causes {
		if i == maxCauses {
			fmt.Fprintf(&text, "\nand more, for other reasons")
			break
		}
		fmt.Fprintf(&text, "\n%s: %s (%s", c.Surface, c.Reason, c.first)
		if c.runs > 1 {
			fmt.Fprintf(&text, " and %d more", c.runs-1)
		}
		text.WriteString(")")
		for line := range strings.SplitSeq(c.Detail, "\n") {
			if line != "" {
				text.WriteString("\n  " + line)
			}
		}
	}
	return couldNotRun(errors.New(text.String()))
}
