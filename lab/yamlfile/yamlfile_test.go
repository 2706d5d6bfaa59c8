package yamlfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/yamlfile"
)

// garden is a format, and its reader one that embeds.
type garden struct {
	rows  int
	pause time.Duration
}

type gardener struct {
	yamlfile.Reader
	dug []string
}

var gardenFields = yamlfile.Table[*gardener, garden]{
	yamlfile.Required("version", func(r *gardener, p yamlfile.Place, _ *garden) { r.Version(p) }),
	yamlfile.Required("rows", func(r *gardener, p yamlfile.Place, g *garden) {
		items, _ := r.Items(p, "a list of beds")
		for _, item := range items {
			bed, _ := r.Filled(item, "a bed")
			r.dug = append(r.dug, bed)
		}
		g.rows = len(items)
	}),
	yamlfile.Optional("pause", func(r *gardener, p yamlfile.Place, g *garden) {
		g.pause, _ = r.Duration(p, time.Second, time.Hour, "from 1s to 1h")
	}),
}

func ExampleObject() {
	for _, text := range []string{"version: 1\nrows: [beans, '${HERB:-thyme}']\npause: 90s\n", "version: 2\nrow: []\npause: 10\n"} {
		r := &gardener{Reader: yamlfile.Reader{File: "garden.yaml", Env: os.LookupEnv}}
		var g garden
		if root, ok := r.Document([]byte(text)); ok {
			yamlfile.Object(r, root, gardenFields, &g)
		}
		if err := r.Invalid(); err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(g.rows, g.pause, r.dug)
	}
	// Output:
	// 2 1m30s [beans thyme]
	// garden.yaml:1:1: rows: missing
	// garden.yaml:1:10: version: must be 1, the version of the format, as a number
	// garden.yaml:2:1: row: unknown key; did you mean "rows"?
	// garden.yaml:3:8: pause: must be a duration with its unit, from 1s to 1h
}

// document reads a text that is right.
func document(t *testing.T, text string) (*yamlfile.Reader, yamlfile.Place) {
	t.Helper()
	r := &yamlfile.Reader{File: "a.yaml", Folder: "dir", Env: func(string) (string, bool) { return "s3cr3t", true }}
	p, ok := r.Document([]byte(text))
	if !ok {
		t.Fatal(r.Invalid())
	}
	return r, p
}

func TestJSON(t *testing.T) {
	const sandboxless = "a.yaml:1:1: ${SANDBOX} is not known here"
	tests := []struct {
		text    string
		sandbox yamlfile.SandboxUse
		want    string
		faults  string
	}{
		{"{z: 1.50, a: [-0, 1e3, True, ~, yes, 2024-01-01, '<&>\u2028', \"\\0\"], '': {}}", false, `{"z":1.50,"a":[-0,1e3,true,null,"yes","2024-01-01","<&>` + "\u2028" + `","\u0000"],"":{}}`, ""},
		{"12345678901234567890.10", false, "12345678901234567890.10", ""},
		{"'${A} $${A} $A'", false, `"s3cr3t ${A} $A"`, ""},
		{"'${SANDBOX}/x'", true, `"${SANDBOX}/x"`, ""},
		{"'${SANDBOX}/x'", false, "", sandboxless},
		{"{a: 0x10, b: &c 1, b: 2}", false, "", "a.yaml:1:5: a: is not how JSON writes a number; put it in quotes if it is a string\n" +
			"a.yaml:1:14: b: an anchor (&) is not read; leave it out\na.yaml:1:20: b: duplicate key, first in line 1"},
		{"1e999", false, "", "a.yaml:1:1: cannot be sent as JSON: "},
	}
	for _, tt := range tests {
		r, p := document(t, tt.text)
		got, ok := r.JSON(p, tt.sandbox)
		faults := ""
		if err := r.Invalid(); err != nil {
			faults = err.Error()
		}
		if string(got) != tt.want || ok != (tt.faults == "") || !strings.HasPrefix(faults, tt.faults) || (faults == "") != (tt.faults == "") {
			t.Errorf("%s: %s, %v\n%s", tt.text, got, ok, faults)
		}
	}
}

func TestLocate(t *testing.T) {
	_, root := document(t, "a:\n  x/y: [1, {~z: 2}]\n  '': 3\nb: 4\n")
	r := &yamlfile.Reader{File: "a.yaml"}
	var want []string
	for _, tt := range []struct{ pointer, want string }{
		{"", "1:1"},
		{"/a", "1:1: a"},
		{"/a/x~1y", `2:3: a."x/y"`},
		{"/a/x~1y/0", `2:9: a."x/y"[0]`},
		{"/a/x~1y/1/~0z", `2:13: a."x/y"[1]."~z"`},
		{"/a/", `3:3: a.""`},
		{"/b", "4:1: b"},
		{"/a/x~1y/2", `2:3: a."x/y"`},
		{"/a/gone/deeper", "1:1: a"},
		{"/b/c", "4:1: b"},
	} {
		want = append(want, "a.yaml:"+tt.want+": "+tt.pointer)
		r.Fault(yamlfile.Locate(root, tt.pointer), tt.pointer)
	}
	got := strings.Split(r.Invalid().Error(), "\n")
	sorted := cmp.Transformer("set", func(lines []string) map[string]bool {
		set := make(map[string]bool)
		for _, line := range lines {
			set[line] = true
		}
		return set
	})
	if diff := cmp.Diff(want, got, sorted); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "there"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ text, path, existing, faults string }{
		{"there", dir + "/there", dir + "/there", ""},
		{"a/../b", dir + "/b", dir + "/b", "x:1:1: cannot be read as a file: no such file or directory"},
		{"/no-such-folder/./b", "/no-such-folder/b", "/no-such-folder/b", "x:1:1: cannot be read as a file: no such file or directory"},
		{".", dir, dir, "x:1:1: is a folder, not a file"},
		{"${SANDBOX}/a/../b", "${SANDBOX}/a/../b", "", "x:1:1: ${SANDBOX} is not known here, but in holes"},
		{"''", "", "", "x:1:1: must be a path, not an empty string\nx:1:1: must be a path, not an empty string"},
		{"a/${SANDBOX}", "", "", "x:1:1: ${SANDBOX} is not known here, but in holes\nx:1:1: ${SANDBOX} may only be the first folder of a path"},
	}
	for _, tt := range tests {
		r := &yamlfile.Reader{File: "x", Folder: dir, SandboxIn: "holes"}
		p, _ := r.Document([]byte(tt.text))
		existing, path := r.Existing(p), r.Path(p)
		faults := ""
		if err := r.Invalid(); err != nil {
			faults = err.Error()
		}
		if path != tt.path || existing != tt.existing || faults != tt.faults {
			t.Errorf("%s: %q, %q\n%s", tt.text, path, existing, faults)
		}
	}
}
