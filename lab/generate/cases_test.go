package generate_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentlab/lab/contract"
	"agentlab/lab/generate"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

func TestSameSourceGivesTheSameBytes(t *testing.T) {
	src := source(t, new(ticket.Production))
	first, err := generate.Cases(t.Context(), src, everything)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(src.Contracts)
	second, err := generate.Cases(t.Context(), src, everything)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text(t, first), text(t, second)) {
		t.Error("the order of the contracts makes a difference")
	}
}

func TestLimits(t *testing.T) {
	src := source(t, new(ticket.Production))
	all := production(t, everything)
	count := func(set *generate.Set) map[string]int {
		n := make(map[string]int)
		for _, c := range set.Cases {
			n[c.Tool]++
		}
		return n
	}
	for _, test := range []struct {
		name    string
		options generate.Options
		want    func(t *testing.T, set *generate.Set)
	}{
		{"max", generate.Options{Max: 60, Runtime: true, Schema: true}, func(t *testing.T, set *generate.Set) {
			if len(set.Cases) != 60 {
				t.Errorf("%d cases, want 60", len(set.Cases))
			}
			for name, n := range count(set) {
				if n != 10 {
					t.Errorf("%s has %d cases, want an even share of 10", name, n)
				}
			}
		}},
		{"more than there are", generate.Options{Max: 1 << 30, Seed: 1, Runtime: true, Schema: true, Pairwise: true}, func(t *testing.T, set *generate.Set) {
			if diff := cmp.Diff(count(all), count(set)); diff != "" {
				t.Error(diff)
			}
		}},
		{"per tool", generate.Options{PerTool: 7, Runtime: true, Schema: true}, func(t *testing.T, set *generate.Set) {
			for name, n := range count(set) {
				if n != 7 {
					t.Errorf("%s has %d cases, want 7", name, n)
				}
			}
		}},
		{"one tool", generate.Options{Tools: []string{"get_ticket"}, Runtime: true}, func(t *testing.T, set *generate.Set) {
			if n := count(set); len(n) != 1 || n["get_ticket"] < 50 {
				t.Errorf("cases of %v", n)
			}
		}},
		{"schema alone", generate.Options{Schema: true}, func(t *testing.T, set *generate.Set) {
			for _, c := range set.Cases {
				if strings.Fields(c.Clause)[1] != "input" {
					t.Errorf("%s is of %s", c.ID, c.Clause)
				}
			}
		}},
		{"runtime alone", generate.Options{Runtime: true}, func(t *testing.T, set *generate.Set) {
			for _, c := range set.Cases {
				if f := strings.Fields(c.Clause); f[1] == "input" && !strings.HasPrefix(f[2], "order/") {
					t.Errorf("%s is of %s", c.ID, c.Clause)
				}
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			set, err := generate.Cases(t.Context(), src, test.options)
			if err != nil {
				t.Fatal(err)
			}
			read(t, text(t, set))
			test.want(t, set)
		})
	}
	if _, err := generate.Cases(t.Context(), src, generate.Options{Tools: []string{"get_tickets"}}); err == nil {
		t.Error("a tool that is not there has cases")
	}
}

// The cases of a limited set are some of those of the whole one, under the same ids.
func TestIDsAreStable(t *testing.T) {
	lines := make(map[string]string)
	for _, c := range production(t, everything).Cases {
		lines[c.ID] = string(c.Line)
	}
	few := everything
	few.PerTool = 20
	for _, c := range production(t, few).Cases {
		if strings.Fields(c.Clause)[1] == "input" && !strings.Contains(c.Clause, " order/") {
			continue // which probes are made of a limited number is not ours
		}
		if lines[c.ID] != string(c.Line) {
			t.Errorf("%s is another case", c.ID)
		}
	}
}

func TestEveryControlHasCasesOnBothSides(t *testing.T) {
	sides := make(map[string]map[string]int)
	for _, c := range production(t, everything).Cases {
		f := strings.Fields(c.Clause)
		control, side := f[1], f[len(f)-1]
		if sides[control] == nil {
			sides[control] = make(map[string]int)
		}
		sides[control][side]++
	}
	for _, control := range []string{"budget", "lookup", "input", "permission", "approval", "rate", "deadline", "idempotency", "handler", "output"} {
		if sides[control]["outside"] == 0 || control != "permission" && sides[control]["inside"]+sides[control]["on"] == 0 {
			t.Errorf("%s has %v", control, sides[control])
		}
	}
}

// A server without controls is asked for nothing but refusals, and for reads to be
// reads.
func TestBareServer(t *testing.T) {
	src := generate.Source{Contracts: generate.Definitions([]tool.Definition{
		{Name: "read", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","maximum":3}},"required":["n"],"additionalProperties":false}`), Annotations: json.RawMessage(`{"readOnlyHint":true}`)},
		{Name: "write", InputSchema: json.RawMessage(`{"type":"object"}`)},
		{Name: "broken", InputSchema: json.RawMessage(`{"type":"objekt"}`)},
	})}
	src.Known = []generate.Known{{Proposal: tool.Proposal{Name: "read", Arguments: json.RawMessage(`{"n":1}`)}}}
	set, err := generate.Cases(t.Context(), src, everything)
	if err != nil {
		t.Fatal(err)
	}
	again, todo := 0, 0
	for _, c := range read(t, text(t, set)) {
		if c.Todo != "" {
			todo++
			continue
		}
		if c.Stage != nil && (c.Stage.Caller != nil || len(c.Stage.Approvals) > 0) || c.Approved {
			t.Errorf("%s has a caller, whom a bare server does not know", c.ID)
		}
		if *c.Expected.OK {
			again++
			continue
		}
		if *c.Expected.SideEffectCount != 0 || c.Expected.ErrorCode != nil {
			t.Errorf("%s asks for %d effects and the code %v", c.ID, *c.Expected.SideEffectCount, c.Expected.ErrorCode)
		}
	}
	if again != 1 || todo != 1 {
		t.Errorf("%d repeats of reads and %d todo, want one of each", again, todo)
	}
	if !slices.ContainsFunc(set.Left, func(l generate.LeftOut) bool { return l.Tool == "broken" }) {
		t.Errorf("a schema that cannot be used is not told of: %v", set.Left)
	}
}

// What servers write does not make a dataset that nobody can read.
func TestHostileNamesAreReadBack(t *testing.T) {
	names := []string{"", " ", "\x00\x1b[2J", "a\nb", "\xff\xfe", strings.Repeat("long", 5000), "../../x", `"`, `\u0000`, "é\u202e", "input", "generated", "<script>"}
	var definitions []tool.Definition
	for _, name := range names {
		quoted, _ := json.Marshal(name)
		definitions = append(definitions, tool.Definition{Name: name, InputSchema: json.RawMessage(
			`{"type":"object","properties":{` + string(quoted) + `:{"type":"string","maxLength":3}},"required":[` + string(quoted) + `]}`)})
	}
	for _, reach := range []generate.Reach{generate.Bare, generate.Ordered, generate.Supervised, generate.Staged} {
		contracts := generate.Definitions(definitions)
		for i := range contracts {
			contracts[i].Permission = names[len(names)-1-i] + "p"
			contracts[i].Approval = contract.Approvals()[i%3]
			contracts[i].Visibility = &contract.Visibility{Tasks: []string{names[i] + "t"}}
		}
		set, err := generate.Cases(t.Context(), generate.Source{Contracts: complete(t, named(contracts)), Reach: reach}, everything)
		if err != nil {
			t.Fatal(err)
		}
		if cases := read(t, text(t, set)); len(cases) != len(set.Cases) || len(cases) == 0 {
			t.Errorf("%d cases of %d were read", len(cases), len(set.Cases))
		}
		for _, c := range set.Cases {
			if bytes.ContainsAny(c.Line, "\x00\x1b\n") {
				t.Errorf("%s holds a control character", c.ID)
			}
		}
	}
}

// named leaves out what no contract can be of.
func named(contracts []contract.Contract) []contract.Contract {
	return slices.DeleteFunc(contracts, func(c contract.Contract) bool { return c.Name == "" })
}

func TestKnownCalls(t *testing.T) {
	const call = `{"name":"t","arguments":{"a":1}}`
	for _, test := range []struct{ name, line, want string }{
		{"a success", `"proposals":[` + call + `],"expected":{"ok":true,"side_effect_count":1}`, `t 1`},
		{"a failure", `"proposals":[` + call + `],"expected":{"ok":false,"side_effect_count":0}`, ``},
		{"a todo", `"todo":"?","proposals":[` + call + `],"expected":{"ok":true,"side_effect_count":1}`, ``},
		{"a repeat", `"proposals":[` + call + `,` + call + `],"expected":{"ok":true,"side_effect_count":1,"replayed":true}`, `t 1`},
		{"a second effect", `"proposals":[` + call + `,` + call + `],"expected":{"ok":true,"side_effect_count":2}`, `t -1`},
		{"another call before", `"proposals":[{"name":"t","arguments":{"a":2}},` + call + `],"expected":{"ok":true,"side_effect_count":1}`, ``},
		{"a first step", `"proposals":[` + call + `,{"name":"u","arguments":{}}],"expected":{"ok":false,"side_effect_count":1,"steps":[{"ok":true,"side_effect_count":1},null]}`, `t 1`},
		{"a first step that fails", `"proposals":[` + call + `,` + call + `],"expected":{"ok":true,"side_effect_count":1,"steps":[{"ok":false},null]}`, ``},
		{"a fault", `"proposals":[{"name":"t","arguments":{},"faults":{"latency_ms":1}}],"expected":{"ok":true,"side_effect_count":0}`, ``},
		{"words", `"proposals":[{"raw":"{}","format":"mcp"}],"expected":{"ok":true,"side_effect_count":0}`, ``},
		{"what is taken", `"proposals":[` + call + `],"expected":{"accepted":true}`, ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got string
			for _, c := range read(t, []byte(`{"case_id":"c","intent":"i",`+test.line+"}\n")) {
				for _, k := range generate.KnownCalls(c) {
					got = k.Proposal.Name + " " + string(jsonvalue.AppendCanonical(nil, json.Number(itoa(k.Effects))))
				}
			}
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func itoa(n int) string {
	text, _ := json.Marshal(n)
	return string(text)
}

// A repeat in another form is the same call, whatever its arguments are.
func TestOtherFormIsTheSameCall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := make(map[string]any)
		for _, name := range rapid.SliceOfN(rapid.String(), 1, 5).Draw(t, "names") {
			members[name] = rapid.OneOf(
				rapid.Map(rapid.String(), func(s string) any { return s }),
				rapid.Map(rapid.Int64(), func(n int64) any { return json.Number(itoa(int(n))) }),
				rapid.Map(rapid.Bool(), func(b bool) any { return []any{b, nil, "x"} }),
			).Draw(t, "value")
		}
		form := jsonvalue.AppendCanonical(nil, members)
		other := generate.Rewritten(form)
		if other == nil {
			return
		}
		value, err := jsonvalue.Decode(other)
		if err != nil {
			t.Fatalf("%s has no one reading: %v", other, err)
		}
		if again := jsonvalue.AppendCanonical(nil, value); !bytes.Equal(form, again) {
			t.Fatalf("%s is %s, want %s", other, again, form)
		}
	})
}

// A name that is nearly a tool's and is another tool's is no wrong name.
func TestNearNamesAreOfNoTool(t *testing.T) {
	const schema = `{"type":"object","additionalProperties":false}`
	names := []string{"note", "notes", "Note", "NOTE", "not", "readNote", "read_note"}
	var definitions []tool.Definition
	for _, name := range names {
		definitions = append(definitions, tool.Definition{Name: name, InputSchema: json.RawMessage(schema)})
	}
	set, err := generate.Cases(t.Context(), generate.Source{Contracts: generate.Definitions(definitions)}, generate.Options{Runtime: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range read(t, text(t, set)) {
		if name := c.Candidate[0].Name; slices.Contains(names, name) {
			t.Errorf("%s calls %s, which is there", c.ID, name)
		}
	}
}

// What lies beside a folder, above it or nowhere is forbidden, and what has an added
// key is given to the server without it.
func TestResourcesAndAddedKeys(t *testing.T) {
	c := contract.Contract{
		Definition: tool.Definition{Name: "write", InputSchema: json.RawMessage(
			`{"type":"object","properties":{"path":{"type":"string"},"key":{"type":"string"}},"required":["path","key"],"additionalProperties":false}`)},
		Foreign: true, Permission: "files:write", Effect: contract.Write, IdempotencyKey: "key",
		Resources: []contract.Resource{{Argument: "path"}},
	}
	src := generate.Source{
		Contracts: complete(t, []contract.Contract{c}),
		Reach:     generate.Supervised,
		Known:     []generate.Known{{Proposal: tool.Proposal{Name: "write", Arguments: json.RawMessage(`{"path":"${SANDBOX}/a","key":"one"}`)}, Effects: 1}},
		Within:    map[string]map[string]string{"write": {"path": "${SANDBOX}"}},
		Twice:     &generate.Twice{Raw: ticket.WideName, Governed: ticket.TypedName, Added: map[string]string{"write": "key"}},
	}
	set, err := generate.Cases(t.Context(), src, everything)
	if err != nil {
		t.Fatal(err)
	}
	var forbidden []string
	for _, c := range read(t, text(t, set)) {
		for _, p := range c.Baseline {
			if bytes.Contains(p.Arguments, []byte(`"key":"one"`)) {
				t.Errorf("%s gives the server the key: %s", c.ID, p.Arguments)
			}
		}
		if c.Expected.Accepted != nil && c.Expected.SideEffectCount != nil && c.Expected.Steps == nil {
			t.Errorf("%s says what a write comes to that nothing holds back", c.ID)
		}
		if c.Expected.ErrorCode != nil && *c.Expected.ErrorCode == "resource_forbidden" {
			var arguments struct{ Path string }
			if err := json.Unmarshal(c.Candidate[0].Arguments, &arguments); err != nil {
				t.Fatal(err)
			}
			forbidden = append(forbidden, arguments.Path)
		}
	}
	for _, want := range []string{"${SANDBOX}-elsewhere/file", "${SANDBOX}/..", "${SANDBOX}/../elsewhere", "/elsewhere", "../elsewhere", "~/elsewhere"} {
		if !slices.Contains(forbidden, want) {
			t.Errorf("%s is not forbidden; there are %q", want, forbidden)
		}
	}
}

func TestOtherForm(t *testing.T) {
	for document, want := range map[string]string{
		`{"a":1,"b":"xy","c":[true,-2]}`: `{"c":[true,-2.0],"b":"\u0078y","a":1.0}`,
		`{"a":"😀!"}`:                     `{"a":"\ud83d\ude00!"}`,
		`{"a":1.5}`:                      ``,
		`{"a":"é"}`:                      `{"a":"\u00e9"}`,
	} {
		if got := string(generate.Rewritten(json.RawMessage(document))); got != want {
			t.Errorf("%s is %s, want %s", document, got, want)
		}
	}
}

// A call that the schema forbids cannot be known to succeed: the case is of another
// contract.
func TestKnownCallsAreHeldToTheSchema(t *testing.T) {
	c := contract.Contract{Definition: tool.Definition{Name: "read", InputSchema: json.RawMessage(`{"type":"object","additionalProperties":false}`)}, Foreign: true, Permission: "p"}
	for arguments, known := range map[string]bool{`{"n":1}`: false, `{}`: true} {
		set, err := generate.Cases(t.Context(), generate.Source{
			Contracts: complete(t, []contract.Contract{c}),
			Reach:     generate.Ordered,
			Known:     []generate.Known{{Proposal: tool.Proposal{Name: "read", Arguments: json.RawMessage(arguments)}}},
		}, everything)
		if err != nil {
			t.Fatal(err)
		}
		succeeds := slices.ContainsFunc(set.Cases, func(c generate.Case) bool { return c.Clause == "read lookup name inside" })
		if left := len(set.Left) > 0; succeeds != known || left == known {
			t.Errorf("%s: a success is expected: %t; left out: %v", arguments, succeeds, set.Left)
		}
	}
}
