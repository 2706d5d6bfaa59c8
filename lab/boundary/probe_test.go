package boundary_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentlab/lab/boundary"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
	"agentlab/lab/tool"
)

// probed makes probes and checks what holds of all of them: what they say of
// validity is what lab/schema says when it is asked again, none is there twice,
// no path leaves the sandbox, and the coverage counts no more than there is.
// There are none where there is no plain call.
func probed(t failer, d tool.Definition, o boundary.ProbeOptions) *boundary.ProbeSet {
	t.Helper()
	set, err := boundary.Probes(d, o)
	if err != nil {
		if _, plainErr := boundary.Plain(d); plainErr == nil && o.Base == nil && o.Foreign {
			t.Errorf("%s has a plain call and no probes: %v", d.InputSchema, err)
		}
		return nil
	}
	again, _ := boundary.Probes(d, o)
	if !reflect.DeepEqual(set, again) {
		t.Fatalf("the same again is not the same:\n%s", cmp.Diff(set, again))
	}
	compiled, err := schema.CompileForeign(d.InputSchema, schema.Draft202012)
	if !o.Foreign {
		compiled, err = schema.Compile(d.InputSchema)
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
	told := make(map[string]bool)
	valid, invalid := 0, 0
	for _, p := range set.Probes {
		if told[string(p.Arguments)] {
			t.Errorf("%s twice", p.Arguments)
		}
		told[string(p.Arguments)] = true
		value, err := jsonvalue.Decode(inSandbox(p.Arguments))
		if p.Ambiguous != (err != nil) {
			t.Errorf("%s is ambiguous: %v; %v", p.Arguments, p.Ambiguous, err)
		}
		found := compiled.Validate(value)
		if p.Valid != (err == nil && found == nil) {
			t.Errorf("%s for %s: valid is %v, and %v, %v", p.Arguments, d.InputSchema, p.Valid, err, found)
		}
		if len(found) > 0 && found[0].Keyword == "schema" && err == nil {
			t.Errorf("%s has no verdict: %v", p.Arguments, found)
		}
		if p.Valid == (p.Side == boundary.Outside) {
			t.Errorf("%s is valid: %v, and %s", p.Arguments, p.Valid, p.Side)
		}
		if p.Words == "" || strings.ContainsAny(p.Words, "\n\x1b") {
			t.Errorf("%s is told as %q", p.Arguments, p.Words)
		}
		if p.Valid {
			valid++
		} else {
			invalid++
		}
		staysInSandbox(t, value, "")
	}
	for _, c := range set.Coverage {
		if c.Inside+c.On > valid || c.Outside > invalid {
			t.Errorf("%+v of %d valid and %d invalid probes", c, valid, invalid)
		}
	}
	for _, p := range set.Probes {
		at := slices.IndexFunc(set.Coverage, func(c boundary.Covered) bool {
			return c.Pointer == p.Pointer && c.Keyword == p.Keyword && c.Property == p.Property
		})
		root, _ := jsonvalue.Decode(d.InputSchema)
		if _, ok := jsonvalue.Find(root, p.Place()); !ok && p.Keyword != "json" && p.Keyword != "false" && p.Keyword != "properties" {
			t.Errorf("%q is no place of %s", p.Place(), d.InputSchema)
		}
		if at >= 0 && p.Side == boundary.On && set.Coverage[at].On == 0 {
			t.Errorf("%s is on %s and counted nowhere", p.Arguments, p.Place())
		}
	}
	return set
}

// staysInSandbox checks every text of a property that is named like a path.
func staysInSandbox(t failer, value any, name string) {
	t.Helper()
	switch v := value.(type) {
	case string:
		if boundary.NamesPath(name) && (strings.HasPrefix(v, "/") && !strings.HasPrefix(v, "/sandboxes") || strings.Contains(v, "..") || strings.HasPrefix(v, "~")) {
			t.Errorf("the path %q leaves the sandbox", v)
		}
	case []any:
		for _, item := range v {
			staysInSandbox(t, item, name)
		}
	case map[string]any:
		for name, member := range v {
			staysInSandbox(t, member, name)
		}
	}
}

func richSchema(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("testdata/rich.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestProbesCoverBothSides: every keyword of a schema that has nearly all of
// them is met from both sides, and each bound is met exactly.
func TestProbesCoverBothSides(t *testing.T) {
	set := probed(t, define("t", richSchema(t)), boundary.ProbeOptions{Foreign: true, Pairwise: true})
	if len(set.Coverage) < 90 {
		t.Errorf("only %d keywords", len(set.Coverage))
	}
	for _, c := range set.Coverage {
		if !c.Both() {
			t.Errorf("%+v has only one side", c)
		}
		bound := strings.HasPrefix(c.Keyword, "min") || strings.HasPrefix(c.Keyword, "max")
		if (c.On > 0) != bound {
			t.Errorf("%+v: on its bound", c)
		}
	}
}

// TestProbesAreWhatIsNamed: each kind of value that programs get wrong is there.
func TestProbesAreWhatIsNamed(t *testing.T) {
	d := define("t", `{"type":"object","required":["id"],"properties":{"id":{"type":"string","minLength":2},"limit":{"type":"integer","minimum":1,"maximum":50},
		"sortBy":{"enum":["name"]},"tags":{"type":"array","items":{"type":"string"},"maxItems":3},"free":true},"additionalProperties":false}`)
	set := probed(t, d, boundary.ProbeOptions{Foreign: true, Base: json.RawMessage(`{"id":"A7"}`)})
	byText := make(map[string]boundary.Probe)
	for _, p := range set.Probes {
		byText[string(p.Arguments)] = p
	}
	tests := []struct {
		arguments string
		valid     bool
		place     string
		side      boundary.Side
	}{
		{`{"id":"A7"}`, true, "", boundary.Inside},
		{`{}`, false, "/required", boundary.Outside},
		{`{"id":null}`, false, "/properties/id/type", boundary.Outside},
		{`{"id":true}`, false, "/properties/id/type", boundary.Outside},
		{`{"id":12345}`, false, "/properties/id/type", boundary.Outside},
		{`{"id":1.5}`, false, "/properties/id/type", boundary.Outside},
		{`{"id":["example"]}`, false, "/properties/id/type", boundary.Outside},
		{`{"id":{"example":"example"}}`, false, "/properties/id/type", boundary.Outside},
		{`{"id":"A7","limit":0}`, false, "/properties/limit/minimum", boundary.Outside},
		{`{"id":"A7","limit":1}`, true, "/properties/limit/minimum", boundary.On}, // though it is the plain value too
		{`{"id":"A7","limit":50}`, true, "/properties/limit/maximum", boundary.On},
		{`{"id":"A7","limit":49}`, true, "/properties/limit/maximum", boundary.Inside},
		{`{"id":"A7","limit":51}`, false, "/properties/limit/maximum", boundary.Outside},
		{`{"id":"A7","limit":"1"}`, false, "/properties/limit/type", boundary.Outside},
		{`{"id":"A7","limit":1.0}`, true, "/properties/limit/type", boundary.Inside},
		{`{"id":"A7","limit":-0}`, false, "/properties/limit/minimum", boundary.Outside},
		{`{"id":"A7","limit":9007199254740993}`, false, "/properties/limit/maximum", boundary.Outside},
		{`{"free":9007199254740993,"id":"A7"}`, true, "/properties/free", boundary.Inside},
		{`{"free":null,"id":"A7"}`, true, "/properties/free", boundary.Inside},
		{`{"free":1.5,"id":"A7"}`, true, "/properties/free", boundary.Inside},
		{`{"id":"A7","limit":1e400}`, false, "/properties/limit/maximum", boundary.Outside},
		{`{"id":""}`, false, "/properties/id/minLength", boundary.Outside},
		{`{"id":"A7","id":"A7"}`, false, "/json", boundary.Outside},
		{`{"id":"A7","id":null}`, false, "/json", boundary.Outside},
		{`{"id":"a\ud800b"}`, false, "/properties/id/json", boundary.Outside},
		{`{"id":"a\u0000b"}`, true, "/properties/id/type", boundary.Inside},
		{`{"id":"e` + "\u0301" + `xample"}`, true, "/properties/id/type", boundary.Inside},
		{`{"id":"a` + "\u202e" + `gnp.b"}`, true, "/properties/id/type", boundary.Inside},
		{`{"id":"` + strings.Repeat("x", 10_000) + `"}`, true, "/properties/id/type", boundary.Inside},
		{`{"id":"A7","unexpected_property":"example"}`, false, "/additionalProperties", boundary.Outside},
		{`{"Id":"A7"}`, false, "/additionalProperties", boundary.Outside},
		{`{"ids":"A7"}`, false, "/additionalProperties", boundary.Outside},
		{`{"id":"A7","sort_by":"name"}`, false, "/additionalProperties", boundary.Outside},
		{`{"id":"A7","sortBy":"NAME"}`, false, "/properties/sortBy/enum", boundary.Outside},
		{`{"id":"A7","sortBy":"name "}`, false, "/properties/sortBy/enum", boundary.Outside},
		{`{"id":"A7","sortBy":"nam"}`, false, "/properties/sortBy/enum", boundary.Outside},
		{`{"id":"A7","tags":[]}`, true, "/properties/tags/type", boundary.Inside},
		{`{"id":"A7","tags":["example","example","example","example"]}`, false, "/properties/tags/maxItems", boundary.Outside},
		{`{"id":"A7","tags":"[\"example\"]"}`, false, "/properties/tags/type", boundary.Outside},
	}
	for _, tt := range tests {
		p, ok := byText[tt.arguments]
		if !ok {
			t.Errorf("there is no %.100s", tt.arguments)
			continue
		}
		if p.Valid != tt.valid || p.Place() != tt.place || p.Side != tt.side {
			t.Errorf("%.100s is %v, %s %s; want %v, %s %s", tt.arguments, p.Valid, p.Place(), p.Side, tt.valid, tt.place, tt.side)
		}
	}
}

// TestMax: a choice keeps both sides of as many keywords as it has room for.
func TestMax(t *testing.T) {
	d := define("t", richSchema(t))
	all := probed(t, d, boundary.ProbeOptions{Foreign: true})
	for _, most := range []int{1, 40, 150, len(all.Probes), len(all.Probes) + 1} {
		set := probed(t, d, boundary.ProbeOptions{Foreign: true, Max: most, Seed: 3})
		if len(set.Probes) != min(most, len(all.Probes)) {
			t.Errorf("%d probes of at most %d", len(set.Probes), most)
		}
		both := 0
		for _, c := range set.Coverage {
			if c.Both() {
				both++
			}
		}
		if want := min(len(set.Coverage), most/3); both < want {
			t.Errorf("%d probes for both sides of %d keywords, want %d", most, both, want)
		}
	}
	one, other := probed(t, d, boundary.ProbeOptions{Foreign: true, Max: 50, Seed: 1}), probed(t, d, boundary.ProbeOptions{Foreign: true, Max: 50, Seed: 2})
	if cmp.Equal(one.Probes, other.Probes) {
		t.Error("another seed makes no other choice")
	}
}

// TestPairwise: every two optional properties are together, apart and absent.
func TestPairwise(t *testing.T) {
	for _, n := range []int{2, 3, 4, 7, 40} {
		d := define("t", `{"type":"object","required":["r"],"properties":{"r":{"type":"integer"},`+repeated(n, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"boolean"}`, i) })+`}}`)
		set := probed(t, d, boundary.ProbeOptions{Foreign: true, Pairwise: true})
		var rows []map[string]any
		for _, p := range set.Probes {
			if strings.Contains(p.Words, "pairs of") || string(p.Arguments) == `{"r":1}` {
				value, _ := jsonvalue.Decode(p.Arguments)
				rows = append(rows, value.(map[string]any))
			}
		}
		if len(rows) > 12 {
			t.Errorf("%d rows for %d properties", len(rows), n)
		}
		if n < 4 {
			for _, p := range set.Probes { // a row may be another probe as well
				if value, err := jsonvalue.Decode(p.Arguments); err == nil {
					rows = append(rows, value.(map[string]any))
				}
			}
		}
		for a := range n {
			for b := range a {
				seen := make(map[[2]bool]bool)
				for _, row := range rows {
					_, hasA := row[fmt.Sprintf("p%d", a)]
					_, hasB := row[fmt.Sprintf("p%d", b)]
					seen[[2]bool{hasA, hasB}] = true
				}
				if len(seen) != 4 {
					t.Errorf("of %d: p%d and p%d have %v", n, a, b, seen)
				}
			}
		}
	}
}

func TestProbesRefuse(t *testing.T) {
	tests := []struct{ name, schema, base, want string }{
		{"a base that the schema refuses", with(`{"type":"integer"}`), `{"a":"x"}`, "the base call is invalid"},
		{"a base that is no object", with(`true`), `[1]`, "no object"},
		{"a base of two readings", with(`true`), `{"a":1,"a":2}`, "duplicate key"},
		{"no schema", `{`, ``, "invalid schema"},
		{"no call", with(`false`), ``, "allows nothing"},
	}
	for _, tt := range tests {
		var base json.RawMessage
		if tt.base != "" {
			base = json.RawMessage(tt.base)
		}
		set, err := boundary.Probes(define("t", tt.schema), boundary.ProbeOptions{Foreign: true, Base: base})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, %v", tt.name, set, err)
		}
	}
	if _, err := boundary.Probes(define("t", `{"unknown":1}`), boundary.ProbeOptions{}); err == nil {
		t.Error("a schema of our own has a keyword that is not known")
	}
}

// TestProbesOfSatisfiable: whatever the schema, the verdicts are those of
// lab/schema.
func TestProbesOfSatisfiable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := objectOf(t, 2)
		set := probed(t, define("t", text), boundary.ProbeOptions{Foreign: true, Seed: 1, Pairwise: rapid.Bool().Draw(t, "pairwise")})
		if set == nil || len(set.Probes) == 0 {
			t.Fatalf("%s has no probes", text)
		}
		for _, c := range set.Coverage {
			if c.Keyword == "required" && c.Pointer == "" && !c.Both() {
				t.Errorf("%s: %+v", text, c)
			}
		}
	})
}

func TestProbesOfSoup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		probed(t, define("t", keywordSoup(3).Draw(t, "schema")), boundary.ProbeOptions{Foreign: true, Pairwise: true})
	})
}

// TestHostileProbes: the same for probes as for first cases.
func TestHostileProbes(t *testing.T) {
	for _, tt := range append(slices.Clip(hostile),
		hostileSchema{"huge bounds", `{"properties":{"a":{"type":"string","minLength":1000000000},"b":{"type":"array","minItems":1000000000},"c":{"type":"object","minProperties":1000000000},"d":{"maxLength":1000000000}}}`, true},
		hostileSchema{"huge numbers", with(`{"type":"number","minimum":1e300,"maximum":1e399,"multipleOf":1e299}`), true},
		hostileSchema{"heavy patterns", `{"properties":{` + repeated(4, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string","pattern":"((x|y){30}){30}%d"}`, i, i) }) + `}}`, true},
		hostileSchema{"recursion in all ways", `{"properties":{"a":{"$ref":"#"},"b":{"type":"array","items":{"$ref":"#"}},"c":{"anyOf":[{"$ref":"#"},{"type":"null"}]}}}`, true},
		hostileSchema{"long required texts", `{"required":["a"],"properties":{"a":{"type":"string","minLength":60000},` + repeated(300, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string"}`, i) }) + `}}`, true},
		hostileSchema{"many required and optional", `{"required":[` + repeated(300, func(i int) string { return fmt.Sprintf(`"p%d"`, i) }) + `],"properties":{` + repeated(900, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"integer","minimum":1}`, i) }) + `}}`, true},
	) {
		t.Run(tt.name, func(t *testing.T) {
			if raceEnabled && strings.HasPrefix(tt.name, "many required") {
				t.Skip("the race detector takes its time over so many properties")
			}
			start := time.Now()
			set, err := boundary.Probes(define("t", tt.schema), boundary.ProbeOptions{Foreign: true, Pairwise: true})
			took := time.Since(start)
			if (err == nil) != tt.built {
				t.Errorf("%v", err)
			}
			if set == nil {
				return
			}
			total := 0
			for _, p := range set.Probes {
				total += len(p.Arguments)
			}
			both := 0
			for _, c := range set.Coverage {
				if c.Both() {
					both++
				}
			}
			t.Logf("%v, %d probes, %d MiB, both sides of %d of %d", took.Round(time.Millisecond), len(set.Probes), total>>20, both, len(set.Coverage))
			if took > time.Minute || total > 80<<20 {
				t.Errorf("%v, %d bytes", took, total)
			}
		})
	}
}

// TestProbesOfBase: a base that works on a backend stays in every call, but for
// the place that is changed.
func TestProbesOfBase(t *testing.T) {
	d := define("t", `{"type":"object","properties":{"id":{"type":"string"},"n":{"type":"integer"}},"required":["id"]}`)
	set := probed(t, d, boundary.ProbeOptions{Foreign: true, Base: json.RawMessage(`{"id":"T-102"}`)})
	for _, p := range set.Probes {
		if strings.HasPrefix(p.Pointer, "/properties/n") && !bytes.Contains(p.Arguments, []byte(`"id":"T-102"`)) {
			t.Errorf("%s has lost its base", p.Arguments)
		}
	}
}
