package spelling_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/spelling"
)

func TestNearest(t *testing.T) {
	known := []string{"command", "env", "url", "headers", "baseline", "FILES", "fines", "side_effect_count", "baseline_calls", "baseline_names", "schedule_earlier", "schedule_later_on"}
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
		{"side_effects", "side_effect_count"},
		{"side_effect_", "side_effect_count"},
		{"side_efects", ""},
		{"side_e", ""},
		{"baseline_", "baseline"},
		{"baseline_xy", ""},
		{"schedule_", ""}, // as much the one as the other
		{"schedule_lx", "schedule_later_on"},
		{"", ""},
		{strings.Repeat("command", 10), ""},
	}
	got, want := map[string]string{}, map[string]string{}
	for _, tt := range tests {
		got[tt.name], want[tt.name] = spelling.Nearest(tt.name, known), tt.want
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
