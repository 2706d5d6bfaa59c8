package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"agentlab/lab/contract"
	"agentlab/lab/dataset"
	"agentlab/lab/generate"
	"agentlab/lab/mutation"
	"agentlab/lab/process"
	"agentlab/lab/suite"
	"agentlab/lab/tool"
)

type contracted = contract.Contract

// builtin is a source of a built-in surface: its backend is made up, and may be asked.
func (o *generateCommand) builtin(ctx context.Context, name string) (generate.Source, error) {
	surface, err := surfaceNamed(name)
	if err != nil {
		return generate.Source{}, err
	}
	source := generate.Source{Contracts: generate.Definitions(surface.Definitions())}
	if behind, ok := surface.(mutation.Subject); ok {
		if source, err = ofBuiltin(ctx, behind, nil); err != nil {
			return generate.Source{}, err
		}
	}
	from := o.sources(ctx, o.from)
	if o.from == nil {
		from = []dataset.Source{shippedToolCases}
	}
	source.Known, err = o.known(ctx, dataset.Settings{Surfaces: surfaceNames(), Candidate: name}, source.Trial == nil, from)
	return source, err
}

func complete(contracts []contract.Contract) ([]contract.Contract, error) {
	all := make([]contract.Contract, len(contracts))
	for i, c := range contracts {
		var err error
		if all[i], err = c.Complete(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// fromSuite is a source of a surface of a suite file.
func (o *generateCommand) fromSuite(cmd *cobra.Command, file string) (generate.Source, error) {
	ctx := cmd.Context()
	s, err := untilDone(ctx, func() (*suite.Suite, error) { return suite.Read(file, os.LookupEnv) })
	if err != nil {
		return generate.Source{}, unreadable(err)
	}
	name := o.surface
	if name == "" {
		name = s.Candidate
	}
	spec, err := surfaceOf(s, name)
	if err != nil {
		return generate.Source{}, err
	}
	raw := s.Baseline
	if raw == name {
		raw = ""
	}
	files := o.from
	if files == nil {
		files = s.Cases
	}
	// What is read comes before what is started.
	known, err := o.known(ctx, dataset.Settings{Surfaces: namesOf(s.Surfaces), Candidate: name}, name == s.Baseline, o.sources(ctx, files))
	if err != nil {
		return generate.Source{}, err
	}
	return o.served(cmd, spec, file, filepath.Dir(file), s.Timeout, raw, known)
}

// fromFlags is a source of the server that --mcp starts.
func (o *generateCommand) fromFlags(cmd *cobra.Command) (generate.Source, error) {
	command, err := process.Split(o.mcp)
	if err == nil && len(command) == 0 {
		err = errors.New("no program is named")
	}
	if err != nil {
		return generate.Source{}, usageError(fmt.Errorf("--mcp: %w", err))
	}
	spec := suite.Surface{Name: alone, Server: suite.Server{Command: command}}
	raw := ""
	if o.contract != "" {
		spec.Name, spec.Contract, raw = governedName, o.contract, bare
	}
	known, err := o.known(cmd.Context(), dataset.Settings{Candidate: spec.Name}, false, o.sources(cmd.Context(), o.from))
	if err != nil {
		return generate.Source{}, err
	}
	return o.served(cmd, spec, "", ".", o.timeout, raw, known)
}

// served lists the tools of a server, and lays the contract of the surface over them.
func (o *generateCommand) served(cmd *cobra.Command, spec suite.Surface, file, dir string, timeout time.Duration, raw string, known []generate.Known) (generate.Source, error) {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	laid, err := readContracts(ctx, []suite.Surface{spec}, file)
	if err != nil {
		return generate.Source{}, err
	}
	definitions, _, err := listTools(ctx, spec, dir, timeout, stderr)
	if err != nil {
		return generate.Source{}, err
	}
	if len(definitions) == 0 {
		return generate.Source{}, couldNotRun(fmt.Errorf("%s lists no tools; there is nothing to write cases for", spec.Name))
	}
	if laid[0] == nil {
		return generate.Source{Contracts: generate.Definitions(definitions), Known: known}, nil
	}
	return behind(laid[0], spec.Name, raw, definitions, known)
}

// behind is a source of a contract file over the tools of a server.
func behind(file *contractFile, name, raw string, definitions []tool.Definition, known []generate.Known) (generate.Source, error) {
	if err := file.pinned(name, definitions, nil); err != nil {
		return generate.Source{}, err
	}
	tools, err := file.Lay(definitions)
	if err != nil {
		return generate.Source{}, unreadable(err)
	}
	source := generate.Source{
		Reach:  generate.Supervised,
		Known:  known,
		Within: make(map[string]map[string]string),
		Twice:  &generate.Twice{Raw: raw, Governed: name, Added: make(map[string]string)},
	}
	for _, t := range tools {
		source.Contracts = append(source.Contracts, t.Contract)
		source.Within[t.Contract.Name] = t.Within
		if t.AddedKey != "" {
			source.Twice.Added[t.Contract.Name] = t.AddedKey
		}
	}
	return source, nil
}

func toolNames(source generate.Source) []string {
	names := make([]string, len(source.Contracts))
	for i, c := range source.Contracts {
		names[i] = c.Name
	}
	return names
}
