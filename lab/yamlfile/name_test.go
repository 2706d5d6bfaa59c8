package yamlfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNearest(t *testing.T) {
	known := []string{"command", "env", "url", "headers", "baseline", "FILES"}
	tests := []struct{ name, want string }{
		{"command", "command"},
		{"comand", "command"},
		{"commandd", "command"},
		{"cmomand", "command"},
		{"comm", ""},
		{"commands2", "command"},
		{"COMMAND", "command"},
		{"header", "headers"},
		{"haeders", "headers"},
		{"envs", "env"},
		{"nev", "env"},
		{"e", ""},
		{"uri", "url"},
		{"base_line", "baseline"},
		{"files", "FILES"},
		{"", ""},
		{strings.Repeat("command", 10), ""},
	}
	got, want := map[string]string{}, map[string]string{}
	for _, tt := range tests {
		got[tt.name], want[tt.name] = nearest(tt.name, known), tt.want
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
