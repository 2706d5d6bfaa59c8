// Package planted breaks the controls in the source of a copy of lab, one bug at a
// time, and asks the ordinary gate whether it notices.
//
// The mutants of lab/mutation are made of data, without a compiler; these few bugs
// are of the kind that a person writes, and show that a gate which kills mutants
// turns red for those too. Every control of the registry has at least one.
package planted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentlab/lab/registry"
)

// gates are the command lines that CI runs as its gate.
var gates = [][]string{
	{"--cases", "datasets/control-cases.jsonl", "--baseline", "wide-tool-v1", "--candidate", candidateOfAll},
	{"--candidate", candidateOfEleven}, // the shipped cases
}

// The surfaces that the gates judge.
const (
	candidateOfAll    = "typed-registry-v3"
	candidateOfEleven = "typed-registry-v2"
)

// The exit codes of lab.
const (
	passed = 0
	failed = 1
)

// notice says which of the gates a bug turns red.
type notice struct{ all, eleven bool }

var (
	onlyAll    = notice{all: true}
	onlyEleven = notice{eleven: true} // typed-registry-v3 asks for no approval of the kind
	both       = notice{true, true}
)

// bug is told by the control that it is in. Right is replaced by wrong in the file,
// and stands there just once.
type bug struct {
	name, control string
	file          string // of lab/registry
	right, wrong  string
	noticed       notice
}

var bugs = []bug{
	{"a call more than the session may make", "budget", "budget.go",
		"s.proposals >= limit.Proposals", "s.proposals > limit.Proposals", onlyAll},
	{"no call adds to what the session has spent", "budget", "budget.go",
		"s.cost += cost", "s.cost += 0", onlyAll},
	{"hidden tools can be called", "lookup", "controls.go",
		"if e == nil || !e.Visibility.Admits(c.call.Caller) {", "if e == nil {", onlyAll},
	{"retired tools are routed", "lookup", "controls.go",
		"if e.Lifecycle.Retired {", "if e.Lifecycle.Retired && c.entry != nil {", onlyAll},
	{"one violation is none", "input", "controls.go",
		"if len(violations) > 0 {", "if len(violations) > 1 {", both},
	{"any permission will do", "permission", "controls.go",
		"!slices.Contains(c.call.Caller.Permissions, c.entry.Permission)", "len(c.call.Caller.Permissions) == 0", both},
	{"what is forbidden is allowed", "permission", "controls.go",
		"case access == Allowed:", "case access != Hidden:", onlyAll},
	{"a key stands in for an approval", "approval", "approval.go",
		"if !c.call.Approved {", `if !c.call.Approved && c.entry.IdempotencyKey == "" {`, onlyEleven},
	{"a grant is good for any call", "approval", "approval.go",
		"if g.Digest != digest {", "if len(g.Digest) != len(digest) {", onlyAll},
	{"a grant holds at the moment in which it expires", "approval", "approval.go",
		"case !c.now.Before(g.ExpiresAt):", "case c.now.After(g.ExpiresAt):", onlyAll},
	{"a grant is never used up", "approval", "approval.go",
		"b.used[id] = true", "b.used[id] = false", onlyAll},
	{"a bucket with a token too many", "rate", "rate.go",
		"time.Duration(rate.Burst)", "time.Duration(rate.Burst+1)", onlyAll},
	{"twice the time that a contract allows", "deadline", "controls.go",
		"c.took > c.entry.Timeout &&", "c.took > 2*c.entry.Timeout &&", onlyAll},
	{"a key is answered whatever the arguments are", "idempotency", "idempotency.go",
		"case known.Fingerprint != c.result.Trace.Fingerprint:", "case len(known.Fingerprint) != len(c.result.Trace.Fingerprint):", both},
	{"callers share their keys", "idempotency", "idempotency.go",
		"Caller: c.call.Caller.ID, ", "", onlyAll},
	{"no receipt is kept", "idempotency", "idempotency.go",
		"claim.Keep(r)", "claim.Free()", both},
	{"the rules for a backend's errors are forgotten", "handler", "crossing.go",
		"rule.Backend == failed.Word", "rule.Backend == failed.Word && false", onlyAll},
	{"a write that takes too long is told as not applied", "handler", "controls.go",
		"if changes {\n\t\tc.outcome = tool.Unknown\n\t}", "", onlyAll},
	{"a byte more than an agent should be given", "output", "output.go",
		"len(c.output) > limits.MaxBytes {", "len(c.output) > limits.MaxBytes+1 {", onlyAll},
	{"the output schema is not asked", "output", "output.go",
		"violations = c.entry.output.Validate(decoded)", "violations = nil", onlyAll},
	{"secrets are shown", "output", "output.go",
		"v[name] = c.registry.marker(member)", "v[name] = member", onlyAll},
	{"permission is asked for after approval", "permission", "controls.go",
		permissionRow + approvalRow, approvalRow + permissionRow, onlyAll},
}

const (
	permissionRow = "\t{\"permission\", \"May this caller do this kind of thing, to this resource?\", \"\", permission},\n"
	approvalRow   = "\t{\"approval\", \"Was this very call confirmed, by somebody who may, and does that still hold?\", \"the contract needs no approval\", approval},\n"
)

func TestEveryControlHasAPlantedBug(t *testing.T) {
	for _, control := range registry.Controls() {
		if !slices.ContainsFunc(bugs, func(b bug) bool { return b.control == control.Name }) {
			t.Errorf("no bug is planted in the %s control", control.Name)
		}
	}
}

func TestTheGateNoticesPlantedBugs(t *testing.T) {
	if testing.Short() {
		t.Skip("a copy of lab is built for every bug")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("no bug", func(t *testing.T) {
		lab := build(t, root, nil)
		for _, gate := range gates {
			if code, report := judged(t, root, lab, gate); code != passed {
				t.Errorf("lab tool-eval %s exits %d:\n%s", strings.Join(gate, " "), code, report)
			}
		}
	})
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			source := filepath.Join(root, "lab", "registry", b.file)
			text, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(text, []byte(b.right)); n != 1 {
				t.Fatalf("%s has the text %q %d times, want once; plant the bug where it belongs now", b.file, b.right, n)
			}
			lab := build(t, root, map[string][]byte{source: bytes.Replace(text, []byte(b.right), []byte(b.wrong), 1)})

			for i, gate := range []struct {
				candidate string
				notices   bool
			}{{candidateOfAll, b.noticed.all}, {candidateOfEleven, b.noticed.eleven}} {
				code, report := judged(t, root, lab, gates[i])
				switch {
				case code != failed && gate.notices, code != passed && !gate.notices:
					t.Errorf("the gate of %s exits %d, and is thought to notice: %t", gate.candidate, code, gate.notices)
				case gate.notices && !names(report, gate.candidate, b.control):
					t.Errorf("the report does not name the %s control:\n%s", b.control, strings.Join(sections(report, gate.candidate), ""))
				}
			}
		})
	}
}

// build builds lab with other text in some files, and returns where it is.
func build(t *testing.T, root string, replaced map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{make(map[string]string)}
	for source, text := range replaced {
		copied := filepath.Join(dir, filepath.Base(source))
		if err := os.WriteFile(copied, text, 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[source] = copied
	}
	listed, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, listed, 0o600); err != nil {
		t.Fatal(err)
	}
	lab := filepath.Join(dir, "lab.exe") // which only one system asks for
	// Nothing here runs long enough for a profile, symbols or fast code to be worth
	// their time.
	command := exec.CommandContext(t.Context(), "go", "build", "-pgo=off", "-gcflags=agentlab/...=-N -l", "-ldflags=-s -w", "-overlay", list, "-o", lab, "./cmd/lab")
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return lab
}

// judged runs a gate and returns its exit code and the report of what failed.
func judged(t *testing.T, root, lab string, gate []string) (code int, report string) {
	t.Helper()
	out := t.TempDir()
	command := exec.CommandContext(t.Context(), lab, append([]string{"tool-eval", "--builtin", "-q", "--out", out}, gate...)...)
	command.Dir = root
	var said bytes.Buffer
	command.Stderr = &said
	err := command.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(out, "tool-failures.md"))
	if err != nil {
		t.Fatalf("%v\n%s", err, said.Bytes())
	}
	return code, string(text)
}

// names reports whether the report says, of some case that failed on the surface,
// that it is this control which had to answer; or which had to let pass what it did
// not, where the case is named after it.
func names(report, surface, control string) bool {
	for _, section := range sections(report, surface) {
		_, due, _ := strings.Cut(section, "\nWhat had to come of it: ")
		due, _, _ = strings.Cut(due, " What came: ")
		named := strings.HasPrefix(section, fmt.Sprintf("`%s` on `%s-", surface, control))
		if strings.HasPrefix(due, "the "+control+" control ") ||
			strings.Contains(section, fmt.Sprintf("refused_by: expected `%q`", control)) ||
			named && strings.HasPrefix(due, "every control lets it pass") {
			return true
		}
	}
	return false
}

// sections are what the report says of each case that failed on the surface.
func sections(report, surface string) []string {
	all := strings.Split(report, "\n## ")
	return slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, fmt.Sprintf("`%s` on ", surface)) })
}
