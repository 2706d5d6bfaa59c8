package jsonvalue

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The rows with a name of their own are those of RFC 6901, section 5.
func TestFind(t *testing.T) {
	tree, err := Decode([]byte(`{"foo":["bar","baz"],"":0,"a/b":1,"m~n":8,"~1":9,"o":{"":{"x":null}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string]string{
		"/foo": `["bar","baz"]`, "/foo/0": `"bar"`, "/": "0", "/a~1b": "1", "/m~0n": "8", "/~01": "9", "/o//x": "null",
	} {
		value, ok := Find(tree, pointer)
		if diff := cmp.Diff(want, string(AppendCanonical(nil, value))); !ok || diff != "" {
			t.Errorf("%q (%v):\n%s", pointer, ok, diff)
		}
	}
	if value, ok := Find(tree, ""); !ok || !cmp.Equal(tree, value) {
		t.Error("the empty pointer is not the whole")
	}
	for _, pointer := range []string{"foo", "foo/0", "/foo/2", "/foo/-1", "/foo/-", "/foo/", "/bar", "/foo/0/x", "/o/x"} {
		if value, ok := Find(tree, pointer); ok || value != nil {
			t.Errorf("%q leads to %v", pointer, value)
		}
	}
}

func TestEveryNameIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOf(rapid.RuneFrom([]rune("~/01ab"))).Draw(t, "name")
		if TokenName(Token(name)) != name {
			t.Fatalf("%q is not read back from %q", name, Token(name))
		}
		if value, ok := Find(map[string]any{name: true}, "/"+Token(name)); !ok || value != true {
			t.Fatalf("%q is not found at %q", name, Token(name))
		}
	})
}
