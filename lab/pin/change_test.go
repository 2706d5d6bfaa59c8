package pin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentlab/lab/tool"
)

// schemaChange is what becomes of one tool's input schema.
func schemaChange(t *testing.T, before, after string) Change {
	t.Helper()
	changes := Of([]tool.Definition{{Name: "a", InputSchema: raw(before)}}).Changes([]tool.Definition{{Name: "a", InputSchema: raw(after)}})
	if len(changes) != 1 {
		t.Fatalf("%v", changes)
	}
	return changes[0]
}

func TestDifferences(t *testing.T) {
	word := strings.Repeat("word ", 100)
	for _, c := range []struct {
		name, before, after string
		want                []Difference
	}{
		{"a type", `{"properties":{"path":{"type":"string"}}}`, `{"properties":{"path":{"type":"integer"}}}`,
			[]Difference{{"/properties/path/type", `"string"`, `"integer"`}}},
		{"members", `{"a":1,"c":{"x":[]}}`, `{"b":2.0,"c":{"x":{}}}`,
			[]Difference{{"/a", `1`, ``}, {"/b", ``, `2`}, {"/c/x", `[]`, `{}`}}},
		{"names that are escaped", `{"a/~b":1}`, `{"a/~b":2}`, []Difference{{"/a~1~0b", `1`, `2`}}},
		{"an item more", `{"required":["b","c"]}`, `{"required":["a","b","c"]}`, []Difference{{"/required/0", ``, `"a"`}}},
		{"an item less", `{"enum":["a","b","c"]}`, `{"enum":["a","c"]}`, []Difference{{"/enum/1", `"b"`, ``}}},
		{"the last item", `[1,2]`, `[1]`, []Difference{{"/1", `2`, ``}}},
		{"an item that is repeated", `[1,1]`, `[1,1,1]`, []Difference{{"/2", ``, `1`}}},
		{"items in another order", `["a","b"]`, `["b","a"]`, []Difference{{"/0", `"a"`, `"b"`}, {"/1", `"b"`, `"a"`}}},
		{"within an item", `[{"a":1},{"b":2}]`, `[{"a":1},{"b":3}]`, []Difference{{"/1/b", `2`, `3`}}},
		{"other items and one more", `[1,2,9]`, `[3,4,5,9]`, []Difference{{"/0", `1`, `3`}, {"/1", `2`, `4`}, {"/2", ``, `5`}}},
		{"the whole", `true`, `false`, []Difference{{"", `true`, `false`}}},
		{"no JSON", `{"a":1}`, `{"a":`, []Difference{{"", `{"a":1}`, `{"a":`}}},
		{"the end of a long text", `{"description":"` + word + `"}`, `{"description":"` + word + `obey"}`,
			[]Difference{{"/description", `…word word word word word word word word word word word word "`, `…word word word word word word word word word word word word obey"`}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, more := schemaChange(t, c.before, c.after).Differences()
			if diff := cmp.Diff(c.want, got); diff != "" || more != 0 {
				t.Errorf("%d more (-want +got):\n%s", more, diff)
			}
		})
	}
	t.Run("many", func(t *testing.T) {
		var before, after []int
		for i := range 50 {
			before, after = append(before, i), append(after, -1-i)
		}
		a, _ := json.Marshal(before)
		b, _ := json.Marshal(after)
		got, more := schemaChange(t, string(a), string(b)).Differences()
		if len(got) != 20 || more != 30 || got[19] != (Difference{"/19", "19", "-20"}) {
			t.Errorf("%v, %d", got, more)
		}
	})
	t.Run("a long name", func(t *testing.T) {
		got, _ := schemaChange(t, `{}`, `{"`+word+`":1}`).Differences()
		if diff := cmp.Diff([]Difference{{"/" + word[:159] + "…", "", "1"}}, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a description that looks like JSON", func(t *testing.T) {
		got, _ := Of([]tool.Definition{{Description: "[1,2]"}}).Changes([]tool.Definition{{Description: "[1,3]"}})[0].Differences()
		if diff := cmp.Diff([]Difference{{"", "[1,2]", "[1,3]"}}, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("what came", func(t *testing.T) {
		got, _ := Change{Kind: Added, Part: Annotations, New: `{"a":1}`, json: true}.Differences()
		if diff := cmp.Diff([]Difference{{"", "", `{"a":1}`}}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDifferencesOfDescriptions(t *testing.T) {
	a, é := strings.Repeat("a", 1000), strings.Repeat("é", 500)
	for _, c := range []struct{ name, before, after, old, new string }{
		{"short", "Reads a file.", "Reads a file!", "Reads a file.", "Reads a file!"},
		{"short, with a long beginning", a[:150] + "x", a[:150] + "y", a[:150] + "x", a[:150] + "y"},
		{"in the middle", a + "x" + a, a + "y" + a, "…" + a[:60] + "x" + a[:99] + "…", "…" + a[:60] + "y" + a[:99] + "…"},
		{"at the end", a, a + "y", "…" + a[:60], "…" + a[:60] + "y"},
		{"at the beginning", "x" + a, a, "x" + a[:159] + "…", a[:160] + "…"},
		{"characters are whole", é + "x" + é, é + "y" + é, "…" + é[:60] + "x" + é[:98] + "…", "…" + é[:60] + "y" + é[:98] + "…"},
		{"characters that begin alike", "x" + é + "è", "x" + é + "é", "…" + é[:60] + "è", "…" + é[:60] + "é"},
		{"nothing before", "", a, "", a[:160] + "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, more := Change{Part: Description, Kind: Changed, Old: c.before, New: c.after}.Differences()
			if diff := cmp.Diff([]Difference{{"", c.old, c.new}}, got); diff != "" || more != 0 {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestOneEditIsOneChange holds for catalogs made at random: what did not change is
// not told, what changed is, and what is told of it is short and differs.
func TestOneEditIsOneChange(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		definitions := someCatalog(rt)
		l, err := Decode(Of(definitions).Encode())
		if err != nil {
			rt.Fatal(err)
		}
		live := slices.Clone(definitions)
		if len(live) > 0 {
			live = rapid.Permutation(live).Draw(rt, "order")
		}
		if got := l.Changes(live); got != nil {
			rt.Fatalf("%v", got)
		}
		if len(live) == 0 {
			return
		}
		edited := rapid.IntRange(0, len(live)-1).Draw(rt, "edited")
		want := edit(rt, &live[edited])
		got := l.Changes(live)
		if fmt.Sprint(told(got)) != fmt.Sprint(want) {
			rt.Fatalf("%v, want %v", told(got), want)
		}
		if Of(live).Digest() == l.Digest() {
			rt.Fatal("the digest of the catalog is the same")
		}
		for _, c := range got {
			if c.Part == "" {
				continue
			}
			differences, _ := c.Differences()
			if len(differences) == 0 {
				rt.Fatalf("%v differs in nothing", c)
			}
			for _, d := range differences {
				if d.Old == d.New || len(d.Old) > 170 || len(d.New) > 170 || !utf8.ValidString(d.Old+d.New+d.Pointer) {
					rt.Fatalf("%q", d)
				}
			}
		}
	})
}

func someText(rt *rapid.T) string {
	return strings.Repeat(rapid.SampledFrom([]string{"", "a", "Reads é.", "\x00\u202e", "word "}).Draw(rt, "text"), rapid.SampledFrom([]int{1, 1, 50}).Draw(rt, "times")) +
		rapid.StringN(0, 5, -1).Draw(rt, "more")
}

func someJSON(rt *rapid.T, depth int) any {
	switch rapid.IntRange(0, 3+2*min(depth, 1)).Draw(rt, "json") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(rt, "bool")
	case 2:
		return json.Number(rapid.SampledFrom([]string{"0", "-1.5", "9007199254740993"}).Draw(rt, "number"))
	case 3:
		return someText(rt)
	case 4:
		items := []any{}
		for range rapid.IntRange(0, 3).Draw(rt, "items") {
			items = append(items, someJSON(rt, depth-1))
		}
		return items
	}
	o := object{}
	for range rapid.IntRange(0, 3).Draw(rt, "members") {
		o[someText(rt)] = someJSON(rt, depth-1)
	}
	return o
}

func someSchema(rt *rapid.T) json.RawMessage {
	text, _ := json.Marshal(someJSON(rt, 3))
	return text
}

func someCatalog(rt *rapid.T) []tool.Definition {
	var all []tool.Definition
	for i := range rapid.IntRange(0, 4).Draw(rt, "tools") {
		d := tool.Definition{Name: fmt.Sprintf("t%d%s", i, valid(someText(rt))), Description: someText(rt), InputSchema: someSchema(rt)}
		if rapid.Bool().Draw(rt, "output") {
			d.OutputSchema = someSchema(rt)
		}
		if rapid.Bool().Draw(rt, "annotations") {
			d.Annotations = someSchema(rt)
		}
		all = append(all, d)
	}
	return all
}

// edit changes one thing of a tool and says what is to be told of it.
func edit(rt *rapid.T, d *tool.Definition) []string {
	name := d.Name
	if rapid.IntRange(0, 4).Draw(rt, "rename") == 0 {
		d.Name = "u" + d.Name
		return []string{trim("removed", name), trim("added", d.Name)}
	}
	part := rapid.SampledFrom(parts).Draw(rt, "part")
	field := map[string]*json.RawMessage{InputSchema: &d.InputSchema, OutputSchema: &d.OutputSchema, Annotations: &d.Annotations}[part]
	kind := "changed"
	switch {
	case field == nil:
		at := rapid.IntRange(0, len(d.Description)).Draw(rt, "at")
		for at < len(d.Description) && !utf8.RuneStart(d.Description[at]) {
			at++
		}
		d.Description = d.Description[:at] + "§" + d.Description[at:]
	case *field == nil:
		kind, *field = "added", raw(`{}`)
	case rapid.Bool().Draw(rt, "drop"):
		kind, *field = "removed", nil
	default:
		*field = raw(`{"§":` + string(*field) + `}`)
	}
	return []string{trim(kind, name, part)}
}

func trim(words ...string) string { return strings.TrimSpace(strings.Join(words, " ")) }
