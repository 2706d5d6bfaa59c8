package yamlfile_test

import (
	"testing"

	"agentlab/lab/yamlfile"
)

// The library's words name what it met, and not what somebody did.
func TestSyntaxFaultsSayWhatToLookFor(t *testing.T) {
	const (
		indented = "; a line is perhaps indented differently from its neighbours"
		quoted   = indented + ", or a string that holds a colon and a space needs quotes"
		space    = "; a space may be missing after a colon"
		tab      = "; indent with spaces, not with a tab"
	)
	for _, tt := range []struct{ name, text, want string }{
		{"deeper", "tools:\n  a:\n    permission: p\n      effect: read\n", "4:7: is not YAML: mapping values are not allowed in this context" + quoted},
		{"less deep", "tools:\n  a:\n    permission: p\n   effect: read\n", "4:4: is not YAML: did not find expected key" + indented},
		{"an item less deep", "- - a\n  - b\n - c\n", "3:2: is not YAML: did not find expected '-' indicator" + indented},
		{"a colon in a value", "a: b: c\n", "1:1: is not YAML: mapping values are not allowed in this context" + quoted},
		{"no space after a colon", "tools:\n  a:\n    permission: p\n    effect:read\n    retry: never\n", "4:5: is not YAML: could not find expected ':'" + space},
		{"no space at the end", "a: 1\nb:2\n", "2:1: is not YAML: could not find expected ':'" + space},
		{"a tab", "tools:\n\ta:\n\t\teffect: read\n", "2:2: is not YAML: found character that cannot start any token" + tab},
		{"a tab after spaces", "tools:\n  a:\n  \teffect: read\n", "3:4: is not YAML: found character that cannot start any token" + tab},
		{"a character", "a: @b\n", "1:1: is not YAML: found character that cannot start any token; a string that begins with such a character is put in quotes"},
		{"anything else", "a: [b\n", "1:1: is not YAML: did not find expected ',' or ']'"},
	} {
		r := &yamlfile.Reader{File: "a.yaml"}
		r.Document([]byte(tt.text))
		got := ""
		if err := r.Invalid(); err != nil {
			got = err.Error()
		}
		if want := "a.yaml:" + tt.want; got != want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, want)
		}
	}
}
