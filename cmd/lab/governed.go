package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"agentlab/lab/governed"
	"agentlab/lab/overlay"
	"agentlab/lab/pin"
	"agentlab/lab/report"
	"agentlab/lab/sandbox"
	"agentlab/lab/suite"
	"agentlab/lab/tool"
)

// contracts are the contract files of surfaces, with their locks, by the place of
// the surface. A surface without one has nil.
type contracts []*contractFile

type contractFile struct {
	pinning string // the command that pins what the contract is laid over
	*overlay.File
	lock pin.Lock // of no tools where nothing is pinned
}

// readContracts reads every contract file and lock before anything is started.
func readContracts(ctx context.Context, chosen []suite.Surface, suiteFile string) (contracts, error) {
	all := make(contracts, len(chosen))
	for i, spec := range chosen {
		if spec.Contract == "" {
			continue
		}
		file, err := readContract(ctx, spec.Contract)
		if err != nil {
			return nil, err
		}
		all[i] = &contractFile{File: file, pinning: pinning(suiteFile, spec.Name)}
		if file.Pin == "" {
			continue
		}
		if all[i].lock, err = readLock(file.Pin); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("there is no %s, which the contract names as its pin; \"%s\" writes it", file.Pin, all[i].pinning)
			}
			return nil, usageError(err)
		}
	}
	return all, nil
}

// pinning is the command that pins a surface of a suite file.
func pinning(suiteFile, surface string) string {
	command := "lab pin "
	if suiteFile != "" && suiteFile != suite.DefaultFile {
		command += "-f " + shellWord(suiteFile) + " "
	}
	return command + surface
}

// readContract reads a contract file, or ends with ctx where that is a pipe.
func readContract(ctx context.Context, path string) (*overlay.File, error) {
	file, err := untilDone(ctx, func() (*overlay.File, error) { return overlay.Read(path, os.LookupEnv) })
	return file, unreadable(err)
}

// over lays the contract of a surface over it. A surface without one is returned as
// it is; one that is down has no tools to lay anything over. Faults is told what no
// caller of a tool is.
func (c *contractFile) over(server *sandbox.Surface, longest time.Duration, notice, faults func(string)) (tool.Surface, error) {
	if c == nil {
		return server, nil
	}
	var tools []overlay.Tool
	if server.Down() == nil {
		definitions := server.Definitions()
		if err := c.pinned(server.Name(), definitions, notice); err != nil {
			return nil, err
		}
		var err error
		if tools, err = c.Lay(definitions); err != nil {
			return nil, unreadable(err)
		}
		reads := make(map[string]bool)
		for _, t := range tools {
			reads[t.Contract.Name] = !t.Contract.Effect.Changes()
			if t.Contract.Timeout > longest && t.Contract.Timeout != overlay.DefaultTimeout && notice != nil {
				notice(fmt.Sprintf("%s: %s: its timeout of %s never comes: the suite ends every call after %s", server.Name(), t.Contract.Name, t.Contract.Timeout, longest))
			}
		}
		server.Reviewed(reads)
	}
	tell := each(faults, server.Name())
	surface, err := governed.Over(server, tools, governed.Settings{
		Expand: sandbox.Expand,
		OnFault: func(name string, cause error) {
			first, _, _ := strings.Cut(cause.Error(), "\n")
			tell(fmt.Sprintf("%s: %s: %s", server.Name(), name, first))
		},
	})
	if err != nil {
		return nil, usageError(fmt.Errorf("%s: %w", c.Path, err))
	}
	return surface, nil
}

// maxChanges is how many changes are told of tools that are not what was pinned.
const maxChanges = 20

// pinned is an error where a tool is not what was pinned: what is exposed, what a
// precondition rests on, and whatever else was reviewed. A tool that nobody had to
// review, as it has come since and is not exposed, is told of.
func (c *contractFile) pinned(surface string, definitions []tool.Definition, notice func(string)) error {
	if c.Pin == "" {
		return nil
	}
	var broken []string
	differ, added := 0, 0
	named := c.Names()
	for _, change := range c.lock.Changes(definitions) {
		exposed := slices.Contains(named, change.Tool)
		if change.Part == "" && change.Kind == pin.Added && !exposed {
			added++
			continue
		}
		if differ++; differ > maxChanges {
			continue
		}
		for _, line := range changeLines(change) {
			broken = append(broken, report.Visible(line)) // no text of a server's begins a line of its own
		}
		if change.Kind == pin.Removed && change.Part == "" && exposed {
			broken = append(broken, "  the contract names it: take it out, or write what it is called now")
		}
	}
	if added > 0 && notice != nil {
		notice(fmt.Sprintf("%s: %s that was not pinned, and is not exposed; \"%s --check\" tells more", surface, report.Counted(added, "tool"), c.pinning))
	}
	if differ == 0 {
		return nil
	}
	if differ > maxChanges {
		broken = append(broken, fmt.Sprintf("and %s more; \"%s --check\" tells them all", report.Counted(differ-maxChanges, "change"), c.pinning))
	}
	return usageError(fmt.Errorf("%s: the tools are not what was pinned in %s\n%s\nreview what has changed; \"%s\" accepts it",
		surface, c.Pin, strings.Join(broken, "\n"), c.pinning))
}
