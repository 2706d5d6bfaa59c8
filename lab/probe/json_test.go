package probe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestJSONEntries(t *testing.T) {
	long := strings.Repeat("x", 200)
	tests := []struct {
		text string
		want []string
	}{
		{`{}`, nil},
		{`[]`, nil},
		{`7`, []string{". 1"}},
		{`null`, []string{". 4"}},
		{`{"a":1,"b":"x","c":null,"d":{},"e":[]}`, []string{"/a 1", "/b 3", "/c 4"}},
		{`{"a":{"b":{"c":[1, 2]},"d":1}}`, []string{`/a/b 11`, "/a/d 1"}},
		{`{"a":[[],{}]}`, []string{"/a/sha256:44136fa355b3678a 2", "/a/sha256:4f53cda18c2baa0c 2"}},
		{`{"a":[1,1,1.0,"1"]}`, []string{"/a/sha256:391552c099c101b1 3", "/a/sha256:6b86b273ff34fce1 1",
			"/a/sha256:6b86b273ff34fce1#2 1", "/a/sha256:6b86b273ff34fce1#3 1"}},
		{`[{"name":"Ann","id":1},{"id":"1"}]`, []string{`/id="1" 10`, "/id=1 21"}},
		{`[{"id":1,"key":"k"},{"id":1,"name":"n"},{"id":null,"uuid":"u"},{"key":2}]`,
			[]string{`/key="k" 18`, "/key=2 9", `/name="n" 19`, `/uuid="u" 22`}},
		{`[{"name":"a/b~c"}]`, []string{`/name="a~1b~0c" 16`}},
		{`{"a/b":1,"~":2}`, []string{"/a~1b 1", "/~0 1"}},
		{`{"` + long + `":1}`, []string{"/" + long[:96] + "...sha256:aa20c23e32018340 1"}},
		{`[{"id":9007199254740993},{"id":9007199254740992}]`, []string{"/id=9007199254740992 23", "/id=9007199254740993 23"}},
	}
	for _, tt := range tests {
		t.Run(tt.text[:min(len(tt.text), 40)], func(t *testing.T) {
			seen := mustLook(t, texts("state", tt.text))
			var got []string
			for _, resource := range slices.Sorted(maps.Keys(seen)) {
				got = append(got, fmt.Sprintf("%s %d", resource, seen[resource].Size))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestJSONEffects(t *testing.T) {
	tests := []struct {
		name, before, after string
		want                []string
	}{
		{"written in another way", `{"a":[{"id":1,"x":1.0}]}`, ` {"a" : [ {"x":1, "id":1e0} ]}`, nil},
		{"another order", `[1,2,{"id":1}]`, `[{"id":1},2,1]`, nil},
		{"the first is taken out", `{"e":[{"name":"a"},{"name":"b"},{"name":"c"}]}`, `{"e":[{"name":"b"},{"name":"c"}]}`,
			[]string{`removed /e/name="a" 12 0`}},
		{"one of several equal", `["x","x","x"]`, `["x","x"]`, []string{"removed /sha256:ba2df4903a2c14e8#3 3 0"}},
		{"an item with a name changes", `[{"id":1,"t":"a"}]`, `[{"id":1,"t":"ab"}]`, []string{"changed /id=1 16 17"}},
		{"deep below", `{"a":{"b":{"c":1}}}`, `{"a":{"b":{"c":2}}}`, []string{"changed /a/b 7 7"}},
		{"a 64-bit number", `{"a":9007199254740993}`, `{"a":9007199254740992}`, []string{"changed /a 16 16"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			effects := Diff(mustLook(t, texts("s", tt.before)), mustLook(t, texts("s", tt.after)))
			if diff := cmp.Diff(tt.want, told(effects)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestJSONFaults(t *testing.T) {
	wantFault(t, texts("call", ``), "it is not one JSON document")
	wantFault(t, texts("call", `{} {}`), "it is not one JSON document")
	wantFault(t, texts("call", `{"a":1,"a":2}`), "the JSON document has a key twice")
	wantFault(t, texts("call", `"`+strings.Repeat("x", MaxDocument)+`"`), "the document is longer than 16777216 bytes")
	wantFault(t, texts("call", "["+strings.Repeat("0,", MaxEntries)+"0]"), "there are more than 1000000 entries")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := JSON("call", func(ctx context.Context) ([]byte, error) { return nil, ctx.Err() }).Look(ctx)
	if want := "call probe: the look was broken off: context canceled\ncontext canceled"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// Whatever stands in a list, one item that is put in somewhere is one effect.
func TestOneItemIsOneEffect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		item := rapid.Custom(func(t *rapid.T) any {
			if rapid.Bool().Draw(t, "scalar") {
				return rapid.IntRange(0, 2).Draw(t, "n")
			}
			return map[string]any{"from": rapid.StringMatching(`[ab]`).Draw(t, "from")}
		})
		with := rapid.SliceOfN(item, 1, 8).Draw(t, "items")
		at := rapid.IntRange(0, len(with)-1).Draw(t, "at")
		without := slices.Delete(slices.Clone(with), at, at+1)
		a, err := entries([]byte(marshal(t, with)))
		if err != nil {
			t.Fatal(err)
		}
		b, err := entries([]byte(marshal(t, without)))
		if err != nil {
			t.Fatal(err)
		}
		effects := Diff(b, a)
		if len(effects) != 1 || effects[0].Change != "added" || len(a) != len(with) {
			t.Fatal(effects)
		}
	})
}

func FuzzEntries(f *testing.F) {
	for _, text := range []string{`{"a":[{"id":1},{"id":1},2]}`, `[{"name":"\u0000"}]`, `{"":{"":0}}`, `x`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		seen, err := entries(text)
		if err != nil {
			return
		}
		for resource := range seen {
			if len(resource) > 600 || !utf8.ValidString(resource) {
				t.Errorf("%q", resource)
			}
		}
		again, err := entries(text)
		if err != nil || Diff(seen, again) != nil {
			t.Error("another look tells something else", err)
		}
	})
}
