package process_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentlab/lab/process"
)

func TestSplit(t *testing.T) {
	tests := []struct {
		line string
		want []string
	}{
		{"", nil},
		{" \t\n", nil},
		{"npx -y  server", []string{"npx", "-y", "server"}},
		{`a '' ""`, []string{"a", "", ""}},
		{`'a "b" \'`, []string{`a "b" \`}},
		{`"a 'b' \" \\ \$ \x"`, []string{`a 'b' " \ $ \x`}},
		{`a\ b c\"d`, []string{"a b", `c"d`}},
		{`pre'mid 'post"x"`, []string{"premid postx"}},
		{"a\\\nb \\\n c", []string{"ab", "c"}},
		{"\"a\\\nb\"", []string{"ab"}},
		{"$HOME *.go # | ; & <x", []string{"$HOME", "*.go", "#", "|", ";", "&", "<x"}},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			got, err := process.Split(tt.line)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
	for line, want := range map[string]string{
		`a 'b`:   "the command line has a ' that is not closed",
		`a "b'`:  `the command line has a " that is not closed`,
		`a "b\"`: `the command line has a " that is not closed`,
		`a "b\`:  `the command line has a " that is not closed`,
		`a b\`:   "the command line ends in a backslash",
	} {
		if got, err := process.Split(line); got != nil || err == nil || err.Error() != want {
			t.Errorf("%s: %q, %v, want %s", line, got, err, want)
		}
	}
}

// What sh makes of a line is what Split makes of it.
func TestSplitLikeTheShell(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("this system has no sh to compare with")
	}
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`[ab "'\\]{0,12}`).Draw(t, "line")
		got, err := process.Split(line)
		if err != nil {
			return // where sh differs from sh
		}
		out, err := exec.Command(shell, "-c", `set -- `+line+"\n"+`for w do printf '%s\0' "$w"; done`).Output()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(string(out), "\x00")
		if diff := cmp.Diff(want[:len(want)-1], append([]string{}, got...)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A word in single quotes is itself.
func TestSplitQuoted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.String()).Draw(t, "words")
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
		}
		got, err := process.Split(strings.Join(quoted, " "))
		if diff := cmp.Diff(words, append([]string{}, got...)); diff != "" || err != nil {
			t.Fatal(err, diff)
		}
	})
}
