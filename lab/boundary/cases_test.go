package boundary_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/boundary"
	"agentlab/lab/tool"
)

func TestCases(t *testing.T) {
	got, err := boundary.Cases([]tool.Definition{
		{Name: "write file", Annotations: json.RawMessage(`{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true}`),
			InputSchema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)},
		{Name: "broken", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer","minimum":2,"maximum":1}},"required":["a"]}`)},
		{Name: "ask", InputSchema: json.RawMessage(`{}`), Annotations: json.RawMessage(`{"readOnlyHint":true}`)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const todo = `"todo":"Say what is right: ok, how many side effects, and what the output must hold."`
	refuse := func(id, wrong, arguments string) string {
		return `{"case_id":"write-file-` + id + `","intent":"Refuse a call of \"write file\" ` + wrong + `.","proposals":[{"name":"write file","arguments":` +
			arguments + `}],"expected":{"ok":false,"side_effect_count":0}}`
	}
	want := []string{
		`{"case_id":"ask-plain","intent":"Call ask as its schema describes it; the server says that it is read-only.",` + todo +
			`,"proposals":[{"name":"ask","arguments":{}}],"expected":{"ok":true,"side_effect_count":0}}`,
		`{"case_id":"broken-plain","intent":"Call broken as its schema describes it.",` +
			`"todo":"Fill in the arguments; no plain call was found (the argument /a: no number is within all its bounds). ` + todo[len(`"todo":"`):] +
			`,"proposals":[{"name":"broken","arguments":{}}],"expected":{"ok":true,"side_effect_count":1}}`,
		`{"case_id":"write-file-plain","intent":"Call \"write file\" as its schema describes it; the server says that it is not read-only and that it is destructive.",` + todo +
			`,"proposals":[{"name":"write file","arguments":{"path":"${SANDBOX}/example.txt"}}],"expected":{"ok":true,"side_effect_count":1}}`,
		refuse("missing-path", "without its required property path", `{}`),
		refuse("unknown", "with the property unexpected_property, which the schema does not know", `{"path":"${SANDBOX}/example.txt","unexpected_property":"example"}`),
		refuse("type-path", "whose property path has the wrong type", `{"path":["${SANDBOX}/example.txt"]}`),
		refuse("null-path", "whose property path is null", `{"path":null}`),
		refuse("misspelt-path", "with the property path misspelt as Path", `{"Path":"${SANDBOX}/example.txt"}`),
		``,
	}
	if diff := cmp.Diff(want, strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if got, err := boundary.Cases(nil, nil); err == nil {
		t.Errorf("%s for no tool", got)
	}
}

// TestCasesOfHostileNames: whatever a server calls its tools and properties, the
// lines have the shape of cases and the names survive.
func TestCasesOfHostileNames(t *testing.T) {
	names := []string{"", "a/b", "a b", "a-b", "a\nb", "\x1b[31m", `"`, "名前", strings.Repeat("n", 5000), strings.Repeat("n", 5000) + "o", "a\u2028b", "${HOME}", "../..", "a", "a", "A", "<script>"}
	var definitions []tool.Definition
	for _, name := range names {
		quoted, _ := json.Marshal(name)
		definitions = append(definitions, define(name, fmt.Sprintf(
			`{"type":"object","properties":{%[1]s:{"type":"integer"},"x/y":{"type":"string"},"x y":{"type":"string"}},"required":[%[1]s,"x/y","x y"]}`, quoted)))
	}
	definitions[3].Annotations = json.RawMessage(`{"readOnlyHint":"yes","destructiveHint":null}`)
	definitions[4].Annotations = json.RawMessage(`{`)
	got, err := boundary.Cases(definitions, nil)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(definitions)
	again, err := boundary.Cases(definitions, nil)
	if err != nil || !bytes.Equal(got, again) {
		t.Errorf("in another order: other bytes, %v", err)
	}

	if !bytes.Contains(got, []byte(`<script>`)) {
		t.Error("text is escaped as if for HTML")
	}
	called := make(map[string]int)
	ids := make(map[string]bool)
	form := regexp.MustCompile(`^[A-Za-z0-9_.-]{1,200}$`)
	for text := range strings.Lines(string(got)) {
		var line struct {
			CaseID    string          `json:"case_id"`
			Intent    string          `json:"intent"`
			Todo      string          `json:"todo"`
			Proposals []tool.Proposal `json:"proposals"`
			Expected  struct {
				OK          *bool `json:"ok"`
				SideEffects *int  `json:"side_effect_count"`
			} `json:"expected"`
		}
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&line); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !form.MatchString(line.CaseID) || ids[line.CaseID] {
			t.Errorf("case_id %q", line.CaseID)
		}
		ids[line.CaseID] = true
		if line.Intent == "" || len(line.Intent) > 500 || strings.ContainsFunc(line.Intent, func(r rune) bool { return r < ' ' || r == '\u2028' }) {
			t.Errorf("intent %q", line.Intent)
		}
		if strings.Contains(line.Intent, "says") {
			t.Errorf("%q tells a hint that is none", line.Intent)
		}
		if len(line.Proposals) != 1 || line.Expected.OK == nil || line.Expected.SideEffects == nil || *line.Expected.SideEffects > 0 != *line.Expected.OK {
			t.Fatalf("%s", text)
		}
		// A flag that is misspelt unnoticed is asked about too.
		if (line.Todo != "") != strings.HasPrefix(line.Intent, "Call ") || *line.Expected.OK && line.Todo == "" {
			t.Errorf("%s", text)
		}
		called[line.Proposals[0].Name]++
	}
	for _, name := range names {
		if called[name] < 10 {
			t.Errorf("%d cases call %q", called[name], name)
		}
	}
}
