package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"agentlab/lab/process"
	"agentlab/lab/tool"
)

// roles is what the test binary does as a child: "act ROLE ARGUMENT".
var roles = map[string]func(argument string) error{}

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "act" {
		if err := roles[os.Args[2]](os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func act(role, argument string) process.Command {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return process.Command{
		Args: []string{self, "act", role, argument},
		Env:  process.Environment("/", map[string]string{"GORACE": "atexit_sleep_ms=0"}),
	}
}

func mustLook(t *testing.T, p Probe) Snapshot {
	t.Helper()
	seen, err := p.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// told writes effects as lines.
func told(effects []tool.Effect) (lines []string) {
	for _, e := range effects {
		lines = append(lines, fmt.Sprintf("%s %s %d %d", e.Change, e.Resource, e.Before, e.After))
	}
	return lines
}

func wantEffects(t *testing.T, before, after Snapshot, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, told(Diff(before, after))); diff != "" {
		t.Error(diff)
	}
}

func wantFault(t *testing.T, p Probe, reason string) *Error {
	t.Helper()
	seen, err := p.Look(t.Context())
	e, ok := err.(*Error)
	if !ok || seen != nil || e.Reason != reason || !strings.HasPrefix(e.Error(), p.Kind()+" probe: "+reason) {
		t.Fatalf("%v, %v; want %q", seen, err, reason)
	}
	return e
}

// texts is a probe that reads one text after the other, and the last for ever.
func texts(kind string, texts ...string) Probe {
	return JSON(kind, func(context.Context) ([]byte, error) {
		text := texts[0]
		if len(texts) > 1 {
			texts = texts[1:]
		}
		return []byte(text), nil
	})
}

func marshal(t interface{ Fatal(...any) }, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
