package mutation

import (
	"bytes"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"agentlab/datasets"
	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/registry"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// decodeCases reads the lines of a dataset.
func decodeCases(t testing.TB, text []byte) (all []*dataset.Case) {
	t.Helper()
	_, err := dataset.Open(dataset.Source{Name: "cases", Path: "cases", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(text)), nil
	}}).Check(t.Context(), func(c *dataset.Case) { all = append(all, c) })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func shippedCases(t testing.TB) []*dataset.Case {
	return append(decodeCases(t, datasets.ToolCases), decodeCases(t, datasets.ControlCases)...)
}

func shippedWaivers(t testing.TB) []Waiver {
	t.Helper()
	waivers, err := DecodeWaivers(datasets.MutantWaivers, datasets.MutantWaiversName)
	if err != nil {
		t.Fatal(err)
	}
	return waivers
}

func ids(mutants []Mutant) []string {
	all := make([]string, len(mutants))
	for i, m := range mutants {
		all[i] = m.ID
	}
	return all
}

func allMutants(t testing.TB, subject Subject) []Mutant {
	t.Helper()
	all, err := Mutants(t.Context(), subject)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestOperators(t *testing.T) {
	kebab := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	var controls []string
	for _, c := range registry.Controls() {
		controls = append(controls, c.Name)
	}
	seen := make(map[string]bool)
	for _, o := range Operators() {
		if !kebab.MatchString(o.Name) || seen[o.Name] {
			t.Errorf("%q is no name of its own", o.Name)
		}
		seen[o.Name] = true
		if o.Control != "" && !slices.Contains(controls, o.Control) {
			t.Errorf("%s weakens %q, which is no control", o.Name, o.Control)
		}
		for what, text := range map[string]string{"does": o.Does, "unchecked": o.Unchecked} {
			if !strings.HasSuffix(text, ".") || strings.Contains(text, "  ") {
				t.Errorf("%s: %s %q is no sentence", o.Name, what, text)
			}
		}
		if !strings.HasPrefix(o.Unchecked, "Nobody checks ") {
			t.Errorf("%s: %q does not say what nobody checks", o.Name, o.Unchecked)
		}
	}
}

// Every operator has a place on some surface, and says what it needs where it has
// none.
func TestEveryOperatorMakesMutants(t *testing.T) {
	made := make(map[string]bool)
	for _, subject := range []Subject{new(ticket.Production), ticket.Typed{}, newShelf()} {
		here := make(map[string]bool)
		for _, m := range allMutants(t, subject) {
			made[m.Operator], here[m.Operator] = true, true
			for _, text := range []string{m.Does, m.Unchecked} {
				if regexp.MustCompile(`CONTROL|TOOL|PLACE`).MatchString(text) {
					t.Errorf("%s: %q is not filled in", m.ID, text)
				}
			}
			if want := strings.Split(m.ID, "/")[0]; want != m.Operator {
				t.Errorf("%s is of %s", m.ID, m.Operator)
			}
		}
		for _, o := range Operators() {
			if !here[o.Name] && o.Needs == "" && (o.Control != "budget" && o.Control != "rate") {
				t.Errorf("%s has no place on %s, and does not say why", o.Name, subject.Name())
			}
		}
	}
	for _, o := range Operators() {
		if !made[o.Name] {
			t.Errorf("%s has no place anywhere", o.Name)
		}
	}
}

// The ids are what waivers and reports go by: they and their order do not change
// unseen.
func TestMutantIDs(t *testing.T) {
	for _, subject := range []Subject{new(ticket.Production), ticket.Typed{}, newShelf()} {
		path := filepath.Join("testdata", subject.Name()+".txt")
		got := strings.Join(ids(allMutants(t, subject)), "\n") + "\n"
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", subject.Name(), diff)
		}
	}
}

// What is put around controls, handlers and stores changes nothing by being there.
func TestWhatIsNotWeakerKillsNothing(t *testing.T) {
	subject := new(ticket.Production)
	v, err := look(t.Context(), subject)
	if err != nil {
		t.Fatal(err)
	}
	variants := map[string]registry.Variant{
		"nothing": {},
		"around": around(func(_ *registry.Backend, own decide) decide { return own },
			"budget", "lookup", "input", "permission", "approval", "rate", "deadline", "idempotency", "handler", "output"),
		"refused": refused("output", "", "", told(func(*registry.Crossing, *tool.Error) {})),
		"as if":   asIf("permission", "", func(*registry.Crossing, *tool.Call) {}),
		"working": working("get_ticket", func(own registry.Handler) registry.Handler { return own }),
		"storing": storing(func(*store) {})(v)[0].weaker,
	}
	cases := shippedCases(t)
	runs := make([]eval.Run, len(cases))
	for i, c := range cases {
		if runs[i], err = eval.Play(t.Context(), subject, c, c.Candidate); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(variants)) {
		surface, err := subject.Vary(variants[name])
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range cases {
			other, err := eval.Play(t.Context(), surface, c, c.Candidate)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(runs[i], other); diff != "" {
				t.Errorf("%s: %s (-subject +variant):\n%s", name, c.ID, diff)
			}
		}
	}
}

// The shipped cases notice every mutant of the surface that asks for every control,
// but for those that a waiver excuses.
func TestTheShippedCasesNoticeEverything(t *testing.T) {
	m, err := Run(t.Context(), Plan{Subject: new(ticket.Production), Cases: shippedCases(t), Waivers: shippedWaivers(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range m.Outcomes {
		if !o.Status.Noticed() && o.Status != Equivalent {
			t.Errorf("%s %s: %s", o.ID, o.Status, o.Unchecked)
		}
		if o.Status == TimedOut {
			t.Errorf("%s: %v did not end", o.ID, o.Kills)
		}
		for _, k := range o.Kills {
			if slices.Contains(k.Graders, graderPanic) {
				t.Errorf("%s: %s panics", o.ID, k.Case)
			}
		}
	}
	if len(m.Stale) > 0 {
		t.Errorf("stale waivers: %+v", m.Stale)
	}
	// Those of the old surface which stand for what the new one asks more of.
	want := []string{"duplicate-action", "idempotency-conflict", "transient-timeout"}
	if diff := cmp.Diff(want, m.LeftOut); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	if share, ok := m.Total.Share(); !ok || share != 1 || m.Total.Equivalent > 2 {
		t.Errorf("the score is %v of %+v", share, m.Total)
	}
}

// The eleven cases were never meant to notice everything.
func TestTheElevenCasesAlone(t *testing.T) {
	m, err := Run(t.Context(), Plan{Subject: ticket.Typed{}, Cases: decodeCases(t, datasets.ToolCases)})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Cases) != 11 || len(m.LeftOut) != 0 {
		t.Fatalf("%v were replayed, %v left out", m.Cases, m.LeftOut)
	}
	by := make(map[string]Status)
	for _, o := range m.Outcomes {
		by[o.ID] = o.Status
	}
	for id, want := range map[string]Status{
		"removed/lookup":                                             Killed,
		"removed/permission":                                         Killed,
		"removed/approval":                                           Killed,
		"removed/idempotency":                                        Killed,
		"removed/output":                                             Survived,
		"output-schema-unchecked/get_ticket":                         Survived,
		"fingerprint-of-text/record_ticket_followup":                 Survived,
		"output-schema-unchecked/slow_ticket_lookup":                 NoCoverage,
		"required-dropped/record_ticket_followup/required/ticket_id": Survived,
	} {
		if by[id] != want {
			t.Errorf("%s %s, want %s", id, by[id], want)
		}
	}
	if share, ok := m.Total.Share(); !ok || share < 0.2 || share > 0.3 {
		t.Errorf("the score is %v of %+v", share, m.Total)
	}
}

// Same input, same answer, whatever the workers.
func TestRunIsTheSameWithAnyNumberOfWorkers(t *testing.T) {
	for _, full := range []bool{false, true} {
		var first *Matrix
		for _, workers := range []int{1, 7} {
			m, err := Run(t.Context(), Plan{Subject: ticket.Typed{}, Cases: decodeCases(t, datasets.ToolCases), Workers: workers, Full: full,
				Select: []string{"removed/*", "*/lookup/*", "key-*", "*/get_ticket/*"}})
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = m
			}
			if diff := cmp.Diff(first, m); diff != "" {
				t.Errorf("%d workers (-first +this):\n%s", workers, diff)
			}
		}
	}
}

func BenchmarkShipped(b *testing.B) {
	cases, waivers := shippedCases(b), shippedWaivers(b)
	for _, full := range []bool{false, true} {
		b.Run(map[bool]string{false: "first kill", true: "full"}[full], func(b *testing.B) {
			for b.Loop() {
				if _, err := Run(b.Context(), Plan{Subject: new(ticket.Production), Cases: cases, Waivers: waivers, Full: full}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
