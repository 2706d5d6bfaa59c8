package governed

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
)

// Wherever a field stands in what a server says, in JSON, in texts in it and after
// words, its value does not come out; and what has no such field stays as it is.
func TestRedactedFieldsAreFoundAnywhere(t *testing.T) {
	const planted = "planted-secret"
	r := newRedactor(&contract.Output{Secret: []string{"password"}})
	rapid.Check(t, func(t *rapid.T) {
		secrets := 0
		words := rapid.SampledFrom([]string{"", "x", "it broke: ", "it's: ", `a "b" `, "[1] ", "{x} ", `"`, "\ufeff", "\n", `\`, "password: ", "`"})
		var value func(depth int) any
		value = func(depth int) any {
			kinds := 6
			if depth == 0 {
				kinds = 3
			}
			switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
			case 0:
				return words.Draw(t, "text")
			case 1:
				return json.Number("1")
			case 2:
				return nil
			case 3:
				return []any{value(depth - 1), value(depth - 1)}
			case 4:
				inner := string(jsonvalue.AppendCanonical(nil, value(depth-1)))
				return words.Draw(t, "before") + inner
			}
			object := map[string]any{rapid.SampledFrom([]string{"a", "b", "passwords"}).Draw(t, "name"): value(depth - 1)}
			if rapid.Bool().Draw(t, "secret") {
				secrets++
				object["password"] = []any{planted, value(depth - 1)}
			}
			return object
		}
		whole := jsonvalue.AppendCanonical(nil, value(4))
		before := words.Draw(t, "before")
		for _, said := range []string{string(r.document(whole)), r.text(string(whole)), r.text(before + string(whole))} {
			if strings.Contains(said, planted) {
				t.Fatalf("of %s%s came out %s", before, whole, said)
			}
		}
		if got := r.document(whole); secrets == 0 && string(got) != string(whole) && !strings.Contains(string(whole), "{") {
			t.Fatalf("%s became %s", whole, got)
		}
	})
}
