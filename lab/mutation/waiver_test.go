package mutation

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/datasets"
	"agentlab/lab/yamlfile"
)

func TestReadWaivers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.yaml")
	text := "version: 1\nwaivers:\n  - mutant: removed/rate\n    reason: one\n  - {mutant: 'keyword-dropped/a/$ref', reason: two}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadWaivers(path)
	want := []Waiver{{Mutant: "removed/rate", Reason: "one", Line: 3}, {Mutant: "keyword-dropped/a/$ref", Reason: "two", Line: 5}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := ReadWaivers(path + ".not"); err == nil {
		t.Error("a file that is not there is read")
	}
}

func TestWaiverFaults(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"version: 2\nwaivers: []\n", "w.yaml:1:10: version: must be 1, the version of the format, as a number"},
		{"waivers: []\n", "w.yaml:1:1: version: missing"},
		{"version: 1\n", "w.yaml:1:1: waivers: missing"},
		{"version: 1\nwaivers: [{mutant: a, reason: r, until: 2030}]\n", "w.yaml:2:34: waivers[0].until: unknown key; the keys are mutant, reason"},
		{"version: 1\nwaivers: [{mutant: a}]\n", "w.yaml:2:11: waivers[0].reason: missing: why no case could notice the mutant"},
		{"version: 1\nwaivers: [{mutant: a, reason: ' '}]\n", "w.yaml:2:31: waivers[0].reason: must be a reason, not white space"},
		{"version: 1\nwaivers:\n- {mutant: a, reason: r}\n- {mutant: a, reason: r}\n", "w.yaml:4:12: waivers[1].mutant: the mutant has a waiver already, on line 3"},
	} {
		_, err := DecodeWaivers([]byte(test.text), "w.yaml")
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s\ngives %s\nwant  %s", test.text, got, test.want)
		}
	}
}

// The JSON Schema and the tables name the same keys, and require the same.
func TestWaiverSchemaNamesTheKeys(t *testing.T) {
	type object struct {
		Properties map[string]struct{ Description string }
		Required   []string
	}
	var document struct {
		Required   []string
		Properties struct {
			Version, Waivers struct {
				Description string
				Items       object
			}
		}
	}
	if err := json.Unmarshal(WaiverSchema, &document); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fileFields.Names(), document.Required); diff != "" {
		t.Error(diff)
	}
	items := document.Properties.Waivers.Items
	if diff := cmp.Diff(waiverFields.Names(), items.Required); diff != "" || len(items.Properties) != len(waiverFields) {
		t.Error(diff)
	}
	for _, name := range waiverFields.Names() {
		if items.Properties[name].Description == "" {
			t.Errorf("%s has no description", name)
		}
	}
}

func FuzzDecodeWaivers(f *testing.F) {
	f.Add([]byte("version: 1\nwaivers: [{mutant: a, reason: r}]\n"))
	f.Add(datasets.MutantWaivers)
	f.Fuzz(func(t *testing.T, text []byte) {
		waivers, err := DecodeWaivers(text, "w.yaml")
		if err != nil {
			if _, ok := err.(*yamlfile.Invalid); !ok || waivers != nil {
				t.Errorf("%T with %v", err, waivers)
			}
			return
		}
		seen := make(map[string]bool)
		for _, w := range waivers {
			if w.Mutant == "" || w.Reason == "" || w.Line < 1 || seen[w.Mutant] {
				t.Errorf("%+v is no waiver", w)
			}
			seen[w.Mutant] = true
		}
	})
}
