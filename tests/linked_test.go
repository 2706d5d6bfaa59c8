package tests

import (
	"os/exec"
	"strings"
	"testing"
)

// Traces are written to a file and sent nowhere: what could send them is not in the
// command.
func TestNoExporterIsLinked(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-pgo=off", "-deps", module+"cmd/lab").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if len(linked) < 100 {
		t.Fatalf("only %d packages were listed", len(linked))
	}
	for _, p := range linked {
		for _, library := range []string{"go.opentelemetry.io/", "google.golang.org/grpc", "google.golang.org/protobuf"} {
			if strings.HasPrefix(p, library) {
				t.Errorf("%s is linked", p)
			}
		}
	}
}
