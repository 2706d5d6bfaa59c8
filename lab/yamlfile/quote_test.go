package yamlfile

import "testing"

func TestWord(t *testing.T) {
	for name, want := range map[string]string{
		"server": "server", "a-b_c1": "a-b_c1", "True": `"True"`, "off": `"off"`, "n": `"n"`, "1": `"1"`, "a.b": `"a.b"`, "a\nb": `"a\nb"`, "\u0085": `"\u0085"`,
	} {
		if got := Word(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
