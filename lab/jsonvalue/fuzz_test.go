package jsonvalue_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"agentlab/lab/jsonvalue"
)

var seeds = []string{
	``, ` `, `null`, `true`, `"text"`, `[]`, `{}`, `[1,2]`, `{"a":{"b":[null]}}`, ` {"a" : 1 , "b" : [ ] } `,
	`{"ticket_id":"T-102","note":"Customer asked for a callback.","action_id":"act-000123"}`,
	`{"b":1,"a":2,"\u0061":3}`, `{"\uffff":1,"\ud83d\ude00":2,"\ue000":3}`, `"\ud83d"`, `"\ude00\ud83d"`,
	"\"\xff\"", "\ufeff{}", `{} {}`, `[1,]`, `// c`, `NaN`, `'a'`, `01`, `-`, `1.`, `[1`, `{"a"`, "\"\u2028<>&\x7f\"",
	`-0`, `1e0`, `10E-1`, `0.1000000000000000055511151231257827`, `9007199254740993`, `333333333.33333329`,
	`1e400`, `1e-400`, `1e401`, `1E21`, `1e0000400`, `5e-324`, `1.7976931348623157e308`, `295147905179352825856`,
	strings.Repeat("[", 65), nested("[", 64, ""), nested(`{"a":`, 64, "1"), digits(400), digits(401),
	"[" + digits(399) + ".5e400]",
}

func FuzzDecode(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		given := bytes.Clone(text)
		tree, err := jsonvalue.Decode(text)
		if !bytes.Equal(given, text) {
			t.Fatal("Decode changed its input")
		}
		if err != nil {
			checkFault(t, text, err)
			return
		}
		if !json.Valid(text) || !utf8.Valid(text) {
			t.Fatal("accepted what is not JSON")
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		var want any
		if err := decoder.Decode(&want); err != nil {
			t.Fatalf("encoding/json: %v", err)
		}
		if !reflect.DeepEqual(want, tree) {
			t.Errorf("Decode = %v, encoding/json has %v", tree, want)
		}
	})
}

// checkFault checks that an error is in the words of the package and lies in
// the text, and that what is JSON is only refused for a reason of our own.
func checkFault(t *testing.T, text []byte, err error) {
	t.Helper()
	var fault *jsonvalue.SyntaxError
	if !errors.As(err, &fault) {
		t.Fatalf("%T: %v", err, err)
	}
	if fault.Offset < 0 || fault.Offset > int64(len(text)) {
		t.Errorf("%v in a text of %d bytes", fault, len(text))
	}
	if fault.Pointer != "" && fault.Pointer[0] != '/' {
		t.Errorf("%q is not a JSON Pointer", fault.Pointer)
	}
	if fault.Reason == "" {
		t.Error("refused without a reason")
	}
	if !json.Valid(text) {
		return
	}
	ours := []string{"duplicate key", "invalid UTF-8", "invalid surrogate pair", "nested deeper", "a number "}
	for _, reason := range ours {
		if strings.HasPrefix(fault.Reason, reason) {
			return
		}
	}
	t.Errorf("refused JSON: %v", fault)
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		tree, err := jsonvalue.Decode(text)
		if err != nil {
			return
		}
		checkOwnForm(t, tree)
		for _, n := range numbersOf(tree) {
			if !jsonvalue.IsDouble(n) {
				return
			}
		}
		checkFormOfTheRFC(t, string(text))
	})
}
