package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"agentlab/lab/process"
	"agentlab/lab/suite"
	"agentlab/lab/yamlfile"
)

// foreign is the part of a command line that asks for MCP servers.
type foreign struct {
	file         string
	builtin      bool
	config       string
	server       string
	candidateMCP string
	contract     string
	effects      []string
	timeout      time.Duration
	strict       bool

	implicit bool // the built-in surfaces are replayed because nothing else is there
}

func (f *foreign) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.file, "file", "f", "", "replay the MCP servers of this suite `FILE` (default: lab.yaml, where there is one)")
	flags.BoolVar(&f.builtin, "builtin", false, "replay the built-in surfaces, though there is a lab.yaml")
	flags.StringVar(&f.candidateMCP, "candidate-mcp", "", "replay the MCP server that this `COMMAND` starts, alone")
	flags.StringVar(&f.config, "mcp-config", "", "replay an MCP server of this client configuration `FILE` ({mcpServers: ...}), alone")
	flags.StringVar(&f.server, "server", "", "the `NAME` of the server in --mcp-config")
	flags.StringVar(&f.contract, "contract", "", "lay this contract `FILE` over the server of the flags, and compare it with the server itself")
	flags.StringArrayVar(&f.effects, "effects", nil, "count what changes: `PROBE` is dir:PATH, sqlite:FILE, http:URL, command:COMMAND, or none; repeatable (default: dir:${SANDBOX})")
	flags.DurationVar(&f.timeout, "timeout", suite.DefaultTimeout, "how long a server may take to start, and for each call, and a probe for each look")
	flags.BoolVar(&f.strict, "strict-stdio", false, "text on a server's standard output ends it, as the protocol has it")
	cmd.MarkFlagsMutuallyExclusive("file", "builtin", "candidate-mcp", "mcp-config")
	cmd.MarkFlagsRequiredTogether("mcp-config", "server")
}

// The names of surfaces that flags make: one alone, or one that is compared with
// itself behind a contract.
const (
	alone = "candidate"
	bare  = "raw"
)

// isSet reports whether a command has a flag that the user has set.
func isSet(cmd *cobra.Command, flag string) bool {
	f := cmd.Flag(flag)
	return f != nil && f.Changed
}

// suite returns what is asked for, and the folder that commands run in; nil
// where the built-in surfaces are.
func (f *foreign) suite(cmd *cobra.Command) (*suite.Suite, string, error) {
	changed := func(name string) bool { return isSet(cmd, name) }
	fromFlags := changed("candidate-mcp") || changed("mcp-config")
	// An empty value is a variable of a shell that was not set.
	for _, flag := range []struct{ name, what string }{
		{"file", "file"}, {"mcp-config", "file"}, {"server", "server"}, {"contract", "file"}, {"baseline", "surface"}, {"candidate", "surface"},
	} {
		if changed(flag.name) && cmd.Flag(flag.name).Value.String() == "" {
			return nil, "", usageError(fmt.Errorf("--%s names no %s", flag.name, flag.what))
		}
	}
	if !fromFlags {
		for _, name := range []string{"effects", "timeout", "contract"} {
			if changed(name) {
				return nil, "", usageError(fmt.Errorf("--%s is for --candidate-mcp and --mcp-config; a suite file has a key for it", name))
			}
		}
		file, err := f.suiteFile(cmd)
		if err != nil {
			return nil, "", err
		}
		if file == "" {
			if f.strict {
				return nil, "", usageError(errors.New("--strict-stdio is for MCP servers, and none is replayed"))
			}
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
	s := &suite.Suite{Surfaces: []suite.Surface{surface}, Candidate: surface.Name, Isolation: suite.PerCase, Timeout: f.timeout}
	if f.contract != "" {
		if surface.Name == governedName {
			return nil, "", usageError(fmt.Errorf("--server %s: that is what the server behind the contract is called", governedName))
		}
		if surface.Name == alone {
			s.Surfaces[0].Name = bare
		}
		behind := surface
		behind.Name, behind.Contract = governedName, f.contract
		s.Surfaces = append(s.Surfaces, behind)
		s.Baseline, s.Candidate = s.Surfaces[0].Name, governedName
	}
	return s, ".", nil
}

// suiteFile is the suite file that is asked for, or that lies about, unless a
// built-in surface is named.
func (f *foreign) suiteFile(cmd *cobra.Command) (string, error) {
	if f.file != "" || f.builtin {
		return f.file, nil
	}
	for _, name := range []string{"baseline", "candidate"} {
		if isSet(cmd, name) && slices.Contains(surfaceNames(), cmd.Flag(name).Value.String()) {
			return "", nil
		}
	}
	if isSet(cmd, "store") {
		return "", nil
	}
	// A link to nothing is there, and an error.
	if _, err := os.Lstat(suite.DefaultFile); !errors.Is(err, fs.ErrNotExist) {
		return suite.DefaultFile, nil
	}
	// The demo passes, which must not be taken for a pass of what lies here.
	for _, near := range []string{"lab.yml", "lab.json"} {
		if _, err := os.Lstat(near); err == nil {
			return "", usageError(fmt.Errorf("there is a %s; name it with -f, or call it %s (--builtin replays the demo)", near, suite.DefaultFile))
		}
	}
	f.implicit = true
	return "", nil
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
		if flag == "none" {
			return nil, usageError(errors.New("--effects none counts nothing, and cannot stand beside another"))
		}
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
	var invalid *yamlfile.Invalid
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &invalid):
		return faulty("the file", invalid.Total, err)
	}
	return usageError(err)
}
