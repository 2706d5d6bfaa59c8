package governed

import (
	"testing"

	"pgregory.net/rapid"

	"agentlab/lab/jsonvalue"
)

func TestWithout(t *testing.T) {
	for object, want := range map[string]string{
		`{}`:                               `{}`,
		`{"k":"v"}`:                        `{}`,
		`{"a":1,"k":"v"}`:                  `{"a":1}`,
		`{"k":"v","z":1}`:                  `{"z":1}`,
		`{"a":1,"k":{"k":[1,2]},"z":"k"}`:  `{"a":1,"z":"k"}`,
		`{"a":{"k":1},"b":["k",{"k":2}]}`:  `{"a":{"k":1},"b":["k",{"k":2}]}`,
		`{"\"k":1,"a":"\",\"k\":2","k":3}`: `{"\"k":1,"a":"\",\"k\":2"}`,
	} {
		if got := string(without([]byte(object), []byte(`"k"`))); got != want {
			t.Errorf("without(%s) = %s, want %s", object, got, want)
		}
	}
}

func TestWithoutAgrees(t *testing.T) {
	name := rapid.SampledFrom([]string{"k", "", "\"k", "k\\", "é", "\n", "{", "a"})
	leaf := rapid.OneOf(
		rapid.Map(name, func(s string) any { return s }),
		rapid.SampledFrom([]any{nil, true, "a,b", "}", "]\"", map[string]any{}, []any{}}),
	)
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		if depth == 0 {
			return leaf
		}
		below := value(depth - 1)
		return rapid.OneOf(leaf,
			rapid.Map(rapid.SliceOfN(below, 0, 3), func(s []any) any { return s }),
			rapid.Map(rapid.MapOfN(name, below, 0, 3), func(m map[string]any) any { return m }))
	}
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOfN(name, value(3), 0, 5).Draw(t, "object")
		out := name.Draw(t, "name")
		text := jsonvalue.AppendCanonical(nil, any(object))
		got := string(without(text, jsonvalue.AppendString(nil, out)))
		delete(object, out)
		if want := string(jsonvalue.AppendCanonical(nil, any(object))); got != want {
			t.Fatalf("without %q: %s, want %s", out, got, want)
		}
	})
}
