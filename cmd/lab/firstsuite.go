package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"agentlab/lab/jsonvalue"
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
	line("  %s:", yamlName(o.name))
	line("    mcp:")
	effects := `effects: {directory: "${SANDBOX}"}   # what counts as a side effect: a file that changes there`
	if o.url != "" {
		line("      url: %s", yamlString(o.url))
		for i, header := range o.headers {
			name, value, ok := strings.Cut(header, ":")
			if !ok {
				return "", fmt.Errorf("--header %q has no colon", name)
			}
			if i == 0 {
				line("      headers:")
			}
			line("        %s: %s", yamlString(strings.TrimSpace(name)), yamlString(strings.TrimSpace(value)))
		}
		effects = `effects: []   # nothing is counted: say where what the server changes can be seen`
	} else {
		quoted := make([]string, len(command))
		for i, word := range command {
			quoted[i] = yamlString(word)
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
			line("        %s: %s", yamlString(name), yamlString(value))
		}
	}
	line("candidate: %s", yamlName(o.name))
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

// plainName is a name that YAML takes for a string without quotes.
var plainName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

func yamlName(name string) string {
	switch strings.ToLower(name) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
	default:
		if plainName.MatchString(name) {
			return name
		}
	}
	return yamlString(name)
}

// yamlString quotes a text for YAML, which takes what JSON does, but for a few
// characters that it folds or refuses.
func yamlString(text string) string {
	var b strings.Builder
	for _, r := range string(jsonvalue.AppendString(nil, text)) {
		if r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == '\ufffe' || r == '\uffff' {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
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
	if err := errors.Join(os.Mkdir(filepath.Dir(cases), 0o700), writeFiles([]string{file, cases}, []byte(written), nil)); err != nil {
		return nil, couldNotRun(err)
	}
	s, err := suite.Read(file, os.LookupEnv)
	if invalid := (*yamlfile.Invalid)(nil); errors.As(err, &invalid) {
		// It is the command line that is wrong, and no file of the user's.
		return nil, usageError(errors.New(strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")))
	}
	return s, unreadable(err)
}
