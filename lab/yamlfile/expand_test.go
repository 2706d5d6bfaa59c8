package yamlfile

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestExpand(t *testing.T) {
	env := func(name string) (string, bool) {
		value, set := map[string]string{"A": "a", "E": "", "N": "${A}", "D": "$", "_x1": "x", "SANDBOX": "no"}[name]
		return value, set
	}
	tests := []struct{ text, want string }{
		{"", ""},
		{"plain", "plain"},
		{"${A}", "a"},
		{"<${A}${A}>", "<aa>"},
		{"${_x1}", "x"},
		{"${E}", ""},
		{"${N}", "${A}"},
		{"${D}{A}", "${A}"},
		{"${D}${A}", "$a"},
		{"$A $ $$ $$$ $(A) {A} $}", "$A $ $$ $$$ $(A) {A} $}"},
		{"$${A}", "${A}"},
		{"$${", "${"},
		{"$$${A}", "$${A}"},
		{"$$$${A}", "$$${A}"},
		{"$${${A}}", "${a}"},
		{"${X:-d}", "d"},
		{"${X:-}", ""},
		{"${X:-:-{d$ \n}", ":-{d$ \n"},
		{"${E:-d}", "d"},
		{"${A:-d}", "a"},
		{"${X:-$${}", "$${"},
		{"${SANDBOX}/x${A}", "${SANDBOX}/xa"},
	}
	for _, tt := range tests {
		got, wrong := expand(tt.text, env, WithSandbox, "")
		if tt.text == "${X:-$${}" {
			if len(wrong) != 1 {
				t.Errorf("%q has no fault", tt.text)
			}
			continue
		}
		if got != tt.want || len(wrong) > 0 {
			t.Errorf("%q: %q, %v, want %q", tt.text, got, wrong, tt.want)
		}
	}
}

// A text put together of pieces becomes what the pieces become, whatever the
// values are.
func TestExpandPieceByPiece(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := map[string]string{}
		env := func(name string) (string, bool) {
			value, set := values[name]
			return value, set
		}
		name := rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_]{0,5}`).Filter(func(s string) bool { return s != sandboxName })
		value := rapid.OneOf(rapid.String(), rapid.StringMatching(`[${}A-C:-]{0,8}`), rapid.SampledFrom([]string{"${A}", "$${A}", "${SANDBOX", "SANDBOX}", "$", "{", "}"}))
		var text, want strings.Builder
		sandboxes := 0
		for i := range rapid.IntRange(0, 8).Draw(t, "pieces") {
			switch rapid.SampledFrom([]string{"plain", "escape", "set", "default", "sandbox"}).Draw(t, "piece") {
			case "plain":
				plain := rapid.StringMatching(`[^$]{0,8}`).Draw(t, "plain")
				text.WriteString(plain)
				want.WriteString(plain)
			case "escape":
				text.WriteString("$${")
				want.WriteString("${")
			case "set":
				n := fmt.Sprintf("%s%d", name.Draw(t, "name"), i)
				values[n] = value.Draw(t, "value")
				text.WriteString("${" + n + "}")
				want.WriteString(values[n])
			case "default":
				n := fmt.Sprintf("%s%d", name.Draw(t, "name"), i)
				fallback := rapid.StringMatching(`[^}$]{0,8}`).Draw(t, "default")
				if rapid.Bool().Draw(t, "empty") {
					values[n] = ""
				}
				text.WriteString("${" + n + ":-" + fallback + "}")
				want.WriteString(fallback)
			case "sandbox":
				text.WriteString(SandboxVariable)
				want.WriteString(SandboxVariable)
				sandboxes++
			}
		}
		got, wrong := expand(text.String(), env, WithSandbox, "")
		if strings.Count(want.String(), SandboxVariable) != sandboxes {
			if len(wrong) == 0 {
				t.Fatalf("%q became %q, in which a value names the sandbox", text.String(), got)
			}
			return
		}
		if len(wrong) > 0 || got != want.String() {
			t.Fatalf("%q with %q:\n%q, %v, want\n%q", text.String(), values, got, wrong, want.String())
		}
		if _, wrong := expand(text.String(), env, WithoutSandbox, ""); (len(wrong) > 0) != (sandboxes > 0) {
			t.Fatalf("%q without a sandbox: %v", text.String(), wrong)
		}
	})
}

func TestExpandTellsNoValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const secret = "s3cr3t"
		value := rapid.SampledFrom([]string{secret, secret + "\xff", "${SANDBOX}" + secret, "${" + secret, "\x00" + secret}).Draw(t, "value")
		text := rapid.StringMatching(`(\$\{[AB]?(:-)?[ab]?\}?|\$|\$\$\{|\{|\}|SANDBOX|a){0,8}`).Draw(t, "text")
		_, wrong := expand(text, func(name string) (string, bool) { return value, name == "A" }, WithoutSandbox, "")
		if strings.Contains(strings.Join(wrong, "\n"), secret) {
			t.Fatalf("%q: %v", text, wrong)
		}
	})
}
