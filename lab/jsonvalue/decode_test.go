package jsonvalue_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"agentlab/lab/jsonvalue"
)

type (
	object = map[string]any
	array  = []any
	number = json.Number
)

func TestDecodeAccepts(t *testing.T) {
	tests := []struct {
		name, text string
		want       any
	}{
		{"null", "null", nil},
		{"true", "true", true},
		{"false", "false", false},
		{"empty string", `""`, ""},
		{"empty array", "[]", array{}},
		{"empty object", "{}", object{}},
		{"empty key", `{"":null}`, object{"": nil}},
		{"every kind", `{"a":[null,true,false,"x",1,{}],"b":{"c":[]}}`,
			object{"a": array{nil, true, false, "x", number("1"), object{}}, "b": object{"c": array{}}}},
		{"white space", " \t\r\n[ 1 ,\n2 ]\t ", array{number("1"), number("2")}},
		{"line end", "{}\n", object{}},
		{"same key in two objects", `[{"k":1},{"k":{"k":2}}]`,
			array{object{"k": number("1")}, object{"k": object{"k": number("2")}}}},
		{"keys that differ in case", `{"a":1,"A":2}`, object{"a": number("1"), "A": number("2")}},
		{"keys that differ in normalisation", `{"\u00e9":1,"e\u0301":2}`, object{"\u00e9": number("1"), "e\u0301": number("2")}},
		{"escapes", `"\"\\\/\b\f\n\r\t\u0000\u0041"`, "\"\\/\b\f\n\r\t\x00A"},
		{"surrogate pair", `"\ud83d\ude00"`, "😀"},
		{"surrogate pair in capitals", `"\uD83D\uDE00"`, "😀"},
		{"noncharacters", `"\uffff\ufffe"`, "\uffff\ufffe"},
		{"replacement character", "\"\ufffd\"", "\ufffd"},
		{"byte order mark in a string", "\"\ufeff\"", "\ufeff"},
		{"raw UTF-8", "\"é€😀\u2028\u007f\"", "é€😀\u2028\u007f"},
		{"number as written", "[-0,1.0,1e0,10E-1,1E+2]",
			array{number("-0"), number("1.0"), number("1e0"), number("10E-1"), number("1E+2")}},
		{"400 digits", digits(400), number(digits(400))},
		{"400 digits in two parts", "-" + digits(200) + "." + digits(200) + "e400",
			number("-" + digits(200) + "." + digits(200) + "e400")},
		{"400 zeros", "0." + strings.Repeat("0", 399), number("0." + strings.Repeat("0", 399))},
		{"exponent 400", "1e400", number("1e400")},
		{"exponent +400", "1E+400", number("1E+400")},
		{"exponent -400", "1e-400", number("1e-400")},
		{"exponent with leading zeros", "1e0000400", number("1e0000400")},
		{"exponent of zeros", "1e-" + strings.Repeat("0", 1000), number("1e-" + strings.Repeat("0", 1000))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := jsonvalue.Decode([]byte(tt.text))
			if err != nil {
				t.Fatalf("Decode(%q): %v", tt.text, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Decode(%q) (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	const (
		trailing   = "text after the document"
		tooEarly   = "the document ends too early"
		tooDeep    = "nested deeper than 64 levels"
		tooLong    = "a number of more than 400 digits"
		tooFar     = "a number with an exponent beyond ±400"
		noDocument = "no JSON document"
	)
	tests := []struct {
		name, text string
		offset     int64
		pointer    string
		reason     string
	}{
		{"duplicate key", `{"a":1,"a":2}`, 7, "/a", "duplicate key"},
		{"duplicate key with the same value", `{"a":1, "a":1}`, 8, "/a", "duplicate key"},
		{"duplicate key after escapes", `{"a":1,"\u0061":2}`, 7, "/a", "duplicate key"},
		{"duplicate key before escapes", `{"\u0061":1,"a":2}`, 12, "/a", "duplicate key"},
		{"duplicate key in surrogates", `{"😀":1,"\ud83d\ude00":2}`, 10, "/😀", "duplicate key"},
		{"duplicate empty key", `{"":1,"":2}`, 6, "/", "duplicate key"},
		{"duplicate key with a slash", `{"a/~b":1,"a\/~b":2}`, 10, "/a~1~0b", "duplicate key"},
		{"nested duplicate key", `{"x":[{"k":1,"k":2}]}`, 13, "/x/0/k", "duplicate key"},
		{"duplicate key far apart", `{"k":{"k":[1,2]},"l":3,"k":4}`, 23, "/k", "duplicate key"},

		{"invalid UTF-8", "\"a\xffb\"", 2, "", "invalid UTF-8"},
		{"invalid UTF-8 in a key", "{\"k\xff\":1}", 3, "", "invalid UTF-8"},
		{"overlong UTF-8", "\"\xc0\xaf\"", 1, "", "invalid UTF-8"},
		{"surrogate in UTF-8", "[\"\xed\xa0\x80\"]", 2, "/0", "invalid UTF-8"},
		{"lone high surrogate", `{"k":"\ud83d"}`, 6, "/k", "invalid surrogate pair `\\ud83d\"}` in string"},
		{"high surrogate before text", `"\ud800 text"`, 1, "", `invalid surrogate pair "\\ud800 text\"" in string`},
		{"lone low surrogate", `"x\udc00"`, 2, "", "invalid surrogate pair `\\udc00\"` in string"},
		{"reversed surrogates", `"\ude00\ud83d"`, 1, "", "invalid surrogate pair `\\ude00\\ud83d` in string"},
		{"two high surrogates", `"\ud83d\ud83d"`, 1, "", "invalid surrogate pair `\\ud83d\\ud83d` in string"},
		{"lone surrogate in a key", `{"\ud800":1}`, 2, "", "invalid surrogate pair `\\ud800\":1}` in string"},

		{"byte order mark", "\ufeff{}", 0, "", `invalid character '\ufeff' at start of value`},
		{"two documents", "{} {}", 3, "", trailing},
		{"two numbers", "1 2", 2, "", trailing},
		{"two lines", "{}\n{}\n", 3, "", trailing},
		{"trailing word", "1  x", 3, "", trailing},
		{"trailing bracket", "{}]", 2, "", trailing},
		{"trailing comma after the document", "[1] ,", 4, "", trailing},
		{"trailing comment", "1 // one", 2, "", trailing},
		{"trailing NUL", "{}\x00", 2, "", trailing},
		{"trailing no-break space", "{}\u00a0", 2, "", trailing},

		{"empty", "", 0, "", noDocument},
		{"white space only", " \t\r\n", 0, "", noDocument},
		{"cut after a bracket", "[", 1, "", tooEarly},
		{"cut in an array", "[1,", 3, "", tooEarly},
		{"cut in an object", "{", 1, "", tooEarly},
		{"cut after a key", `{"a"`, 4, "/a", tooEarly},
		{"cut before a value", `{"a":`, 5, "/a", tooEarly},
		{"cut after a value", `{"a":1`, 6, "", tooEarly},
		{"cut in a string", `["ab`, 4, "/0", tooEarly},
		{"cut in a literal", "tru", 3, "", tooEarly},
		// What is cut within a number or an escape is told by its start.
		{"cut in a number", `{"n": 1.`, 6, "/n", tooEarly},
		{"cut in an escape", `"ab\u00`, 3, "", tooEarly},

		{"NaN", "[NaN]", 1, "/0", "invalid character 'N' at start of value"},
		{"Infinity", "-Infinity", 1, "", "invalid character 'I' in number (expecting digit)"},
		{"line comment", "// c\n1", 0, "", "invalid character '/' at start of value"},
		{"block comment", "[1 /* c */]", 3, "", "invalid character '/' after array element (expecting ',' or ']')"},
		{"trailing comma in an array", "[1,]", 2, "", "invalid character ',' at start of value"},
		{"trailing comma in an object", `{"a":1,}`, 6, "", "invalid character ',' at start of value"},
		{"leading comma", "[,1]", 1, "", "invalid character ',' at start of value"},
		{"single quotes", "['a']", 1, "/0", `invalid character '\'' at start of value`},
		{"single quotes around a key", "{'a':1}", 1, "", `invalid character '\'' at start of value`},
		{"bare key", "{a:1}", 1, "", "invalid character 'a' at start of value"},
		{"number as key", "{1:2}", 1, "", "object member name must be a string"},
		{"missing colon", `{"a" 1}`, 5, "/a", "invalid character '1' after object name (expecting ':')"},
		{"missing value", `{"a":}`, 5, "/a", "missing value after object name"},
		{"missing comma", "[1 2]", 3, "", "invalid character '2' after array element (expecting ',' or ']')"},
		{"crossed brackets", `{"a":1]`, 6, "", "invalid character ']' after object value (expecting ',' or '}')"},
		{"leading zero", "01", 1, "", trailing},
		{"leading zero after a sign", "-01", 2, "", trailing},
		{"leading zero within", "[01]", 2, "", "invalid character '1' after array element (expecting ',' or ']')"},
		{"leading point", ".5", 0, "", "invalid character '.' at start of value"},
		{"leading plus", "+1", 0, "", "invalid character '+' at start of value"},
		{"no digit after the point", "1.e1", 2, "", "invalid character 'e' in number (expecting digit)"},
		{"hexadecimal", "0x1F", 1, "", trailing},
		{"capital literal", "True", 0, "", "invalid character 'T' at start of value"},
		{"raw line end in a string", "\"\n\"", 1, "", `invalid character '\n' in string (expecting non-control character)`},
		{"unknown escape", `"\x41"`, 1, "", "invalid escape sequence `\\x` in string"},
		{"pointer with escapes", `{"a~/b":[1,{"":tru}]}`, 18, "/a~0~1b/1/", "invalid character '}' in literal true (expecting 'e')"},

		{"arrays too deep", nested("[", 65, ""), 64, strings.Repeat("/0", 64), tooDeep},
		{"arrays far too deep", strings.Repeat("[", 1_000_000), 64, strings.Repeat("/0", 64), tooDeep},
		{"objects too deep", nested(`{"a":`, 64, "{}"), 320, strings.Repeat("/a", 64), tooDeep},
		{"mixture too deep", nested(`[{"a":`, 32, "[]"), 192, strings.Repeat("/0/a", 32), tooDeep},
		{"401 digits", "[1, " + digits(401) + "]", 4, "/1", tooLong},
		{"401 digits in two parts", "-" + digits(200) + "." + digits(201), 0, "", tooLong},
		{"401 zeros", "0." + strings.Repeat("0", 400), 0, "", tooLong},
		{"exponent 401", `{"n":1e401}`, 5, "/n", tooFar},
		{"exponent +401", "1E+401", 0, "", tooFar},
		{"exponent -401", " 1e-401", 1, "", tooFar},
		{"exponent -401 of zero", "0e-401", 0, "", tooFar},
		{"exponent 1000", "1e1000", 0, "", tooFar},
		{"exponent with leading zeros", "1e00401", 0, "", tooFar},
		{"exponent beyond an int", "1e999999999999999999999", 0, "", tooFar},
		{"fault behind a long text", "[" + strings.Repeat(`"0123456789",`, 10_000) + "1e401]", 130_001, "/10000", tooFar},
		{"trailing behind a long text", strings.Repeat(" ", 10_000) + "{}" + strings.Repeat("\n", 10_000) + "?", 20_002, "", trailing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := jsonvalue.Decode([]byte(tt.text))
			var fault *jsonvalue.SyntaxError
			if !errors.As(err, &fault) {
				t.Fatalf("Decode = %v, %v; want a *SyntaxError", got, err)
			}
			if got != nil {
				t.Errorf("Decode = %v beside an error, want nil", got)
			}
			want := &jsonvalue.SyntaxError{Offset: tt.offset, Pointer: tt.pointer, Reason: tt.reason}
			if diff := cmp.Diff(want, fault); diff != "" {
				t.Errorf("fault (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeDepth(t *testing.T) {
	tests := []struct{ name, text string }{
		{"arrays", nested("[", 64, "")},
		{"objects", nested(`{"a":`, 63, "{}")},
		{"mixture", nested(`[{"a":`, 32, "null")},
		{"brackets in a string", `"` + strings.Repeat("[", 100) + `"`},
		{"side by side", "[" + strings.Repeat("[],", 100) + "[]]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree, err := jsonvalue.Decode([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(jsonvalue.AppendCanonical(nil, tree)); got != tt.text {
				t.Errorf("read as %s, want %s", got, tt.text)
			}
		})
	}
}

func TestDecodeKeepsNothingOfTheText(t *testing.T) {
	tests := []struct{ name, text string }{
		{"short", `{"key":["text",1234567890.5,"\u0061\n"]}`},
		{"longer than a buffer", `{"key":"` + strings.Repeat("0123456789", 1000) + `","n":` + digits(400) + `}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := []byte(tt.text)
			tree := mustDecode(t, tt.text)
			got, err := jsonvalue.Decode(text)
			if err != nil {
				t.Fatal(err)
			}
			for i := range text {
				text[i] = '#'
			}
			if diff := cmp.Diff(tree, got); diff != "" {
				t.Errorf("the tree changed with the text (-want +got):\n%s", diff)
			}
		})
	}
}

// One reader serves many texts; each of these leaves another kind of state
// behind in it.
var unrelated = []struct {
	text string
	want any // nil: refused
}{
	{`{"a":1,"a":2}`, nil},
	{`{"a":{"b":[1,2,{"c":`, nil},
	{`{"a":1}`, object{"a": number("1")}},
	{`{"a":"` + strings.Repeat("x", 10_000), nil},
	{`{"b":"` + strings.Repeat("y", 10_000) + `"}`, object{"b": strings.Repeat("y", 10_000)}},
	{`[1] [2]`, nil},
	{`[2]`, array{number("2")}},
	{strings.Repeat("[", 65), nil},
	{`"\ud800"`, nil},
	{"\"\xff\"", nil},
	{``, nil},
	{`1e401`, nil},
	{`{"b":2,"a":3}`, object{"a": number("3"), "b": number("2")}},
	{`"`, nil},
	{`"z"`, "z"},
}

func checkUnrelated(t *testing.T, i int) {
	tt := unrelated[i%len(unrelated)]
	got, err := jsonvalue.Decode([]byte(tt.text))
	if refused := err != nil; refused != (tt.want == nil) {
		t.Errorf("Decode(%.20q): %v", tt.text, err)
	}
	if diff := cmp.Diff(tt.want, got); diff != "" {
		t.Errorf("Decode(%.20q) (-want +got):\n%s", tt.text, diff)
	}
}

func TestDecodeAfterDecode(t *testing.T) {
	for first := range unrelated {
		for second := range unrelated {
			checkUnrelated(t, first)
			checkUnrelated(t, second)
		}
	}
}

func TestDecodeBesideDecode(t *testing.T) {
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 200 {
				checkUnrelated(t, i*(worker+1)+worker)
			}
		})
	}
	group.Wait()
}

func TestSyntaxErrorSaysWhere(t *testing.T) {
	tests := []struct{ text, want string }{
		{`{"a":1,"a":2}`, "duplicate key at /a (byte 7)"},
		{`[1,`, "the document ends too early (byte 3)"},
		{``, "no JSON document (byte 0)"},
	}
	for _, tt := range tests {
		if _, err := jsonvalue.Decode([]byte(tt.text)); err == nil || err.Error() != tt.want {
			t.Errorf("Decode(%q): %v, want %s", tt.text, err, tt.want)
		}
	}
}

func TestSyntax(t *testing.T) {
	tokenizerError := func(text string) error {
		tokens := jsontext.NewDecoder(strings.NewReader(text))
		for {
			if _, err := tokens.ReadToken(); err != nil {
				return err
			}
		}
	}
	tests := []struct {
		name string
		err  error
		want error
	}{
		{"none", nil, nil},
		{"end", io.EOF, &jsonvalue.SyntaxError{Reason: "no JSON document"}},
		{"of a reader", errors.New("disk on fire"), &jsonvalue.SyntaxError{Reason: "disk on fire"}},
		{"duplicate", tokenizerError(`[{"a":1,"a":2}]`), &jsonvalue.SyntaxError{Offset: 8, Pointer: "/0/a", Reason: "duplicate key"}},
		{"cut", tokenizerError(`[1`), &jsonvalue.SyntaxError{Offset: 2, Reason: "the document ends too early"}},
		{"wrapped", fmt.Errorf("line 3: %w", tokenizerError(`[1`)), &jsonvalue.SyntaxError{Offset: 2, Reason: "the document ends too early"}},
		{"other", tokenizerError(`[?]`), &jsonvalue.SyntaxError{Offset: 1, Pointer: "/0", Reason: "invalid character '?' at start of value"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, jsonvalue.Syntax(tt.err)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func mustDecode(t testing.TB, text string) any {
	t.Helper()
	tree, err := jsonvalue.Decode(bytes.Clone([]byte(text)))
	if err != nil {
		t.Fatalf("Decode(%.100q): %v", text, err)
	}
	return tree
}

func digits(n int) string { return strings.Repeat("1234567890", n/10+1)[:n] }

// nested repeats the opening text around a core and closes what it opened.
func nested(open string, levels int, core string) string {
	var closing []byte
	for i := len(open) - 1; i >= 0; i-- {
		switch open[i] {
		case '[':
			closing = append(closing, ']')
		case '{':
			closing = append(closing, '}')
		}
	}
	return strings.Repeat(open, levels) + core + strings.Repeat(string(closing), levels)
}
