package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"agentlab/lab/suite"
	"agentlab/lab/yamlfile"
)

// suiteFile is the text of the suite file.
func (o *initCommand) suiteFile(command []string) (string, error) {
	for _, text := range slices.Concat([]string{o.name, o.url}, command, o.env, o.headers) {
		if !utf8.ValidString(text) {
			return "", fmt.Errorf("%q is not UTF-8, and cannot stand in a suite file", text)
		}
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# What lab tool-eval replays; \"lab help suite\" tells every key.")
	line("version: 1")
	line("surfaces:")
	line("  %s:", yamlfile.Word(o.name))
	line("    mcp:")
	effects := `effects: {directory: "${SANDBOX}"}   # what counts as a side effect: a file that changes there`
	if o.url != "" {
		line("      url: %s", yamlfile.Quote(o.url))
		for i, header := range o.headers {
			name, value, ok := strings.Cut(header, ":")
			if !ok {
				return "", fmt.Errorf("--header %q has no colon", name)
			}
			if i == 0 {
				line("      headers:")
			}
			line("        %s: %s", yamlfile.Quote(strings.TrimSpace(name)), yamlfile.Quote(strings.TrimSpace(value)))
		}
		effects = `effects: []   # nothing is counted: say where what the server changes can be seen`
	} else {
		quoted := make([]string, len(command))
		for i, word := range command {
			quoted[i] = yamlfile.Quote(word)
		}
		line("      command: [%s]", strings.Join(quoted, ", "))
		environment := o.env
		if o.fetches(command[0]) && os.Getenv("HOME") != "" {
			// Its HOME is the sandbox, in which every case would fetch the package anew.
			environment = append([]string{npmCache + "=${HOME}/.npm"}, environment...)
		}
		for i, variable := range environment {
			name, value, literal := strings.Cut(variable, "=")
			if name == "" {
				return "", fmt.Errorf("--env %q names no variable", variable)
			}
			if !literal {
				value = "${" + name + "}"
			}
			if i == 0 {
				line("      env:")
			}
			line("        %s: %s", yamlfile.Quote(name), yamlfile.Quote(value))
		}
	}
	if o.contract {
		line("  %s:", governedName)
		line("    surface: %s", yamlfile.Word(o.name))
		line("    contract: %s", firstContract)
		line("baseline: %s", yamlfile.Word(o.name))
		line("candidate: %s", governedName)
	} else {
		line("candidate: %s", yamlfile.Word(o.name))
	}
	line("cases: [cases/*.jsonl]")
	if o.url == "" {
		line("sandbox: {}       # a fresh empty ${SANDBOX} for every case; seed: FOLDER makes it a copy of one")
	}
	line("%s", effects)
	if o.url == "" {
		line("isolation: case   # a fresh server for every case")
	} else {
		line("isolation: case   # a fresh connection for every case; what the server keeps, it keeps between them")
	}
	line("timeout: %s     # of a start, and of each call", suite.DefaultTimeout)
	return b.String(), nil
}

const npmCache = "npm_config_cache"

// fetches reports whether a program fetches packages to a place that nobody has
// named.
func (o *initCommand) fetches(program string) bool {
	base := filepath.Base(program)
	return (base == "npx" || base == "npm") && !slices.ContainsFunc(o.env, func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return strings.EqualFold(name, npmCache)
	})
}

// read reads the suite file that is to be written as it will be read from then
// on: in a folder of its own, as the cases that it names are not there yet.
func (o *initCommand) read(written string) (*suite.Suite, error) {
	dir, err := os.MkdirTemp("", "lab-init-")
	if err != nil {
		return nil, couldNotRun(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, suite.DefaultFile)
	cases := filepath.Join(dir, filepath.FromSlash(casesFile))
	contract := filepath.Join(dir, firstContract)
	if err := errors.Join(os.Mkdir(filepath.Dir(cases), 0o700), writeFiles([]string{file, cases, contract}, []byte(written), nil, nil)); err != nil {
		return nil, couldNotRun(err)
	}
	s, err := suite.Read(file, os.LookupEnv)
	if invalid := (*yamlfile.Invalid)(nil); errors.As(err, &invalid) {
		// It is the command line that is wrong, and no file of the user's.
		return nil, usageError(errors.New(strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")))
	}
	return s, unreadable(err)
}
