package proposal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/proposal"
	"agentlab/lab/tool"
)

// checkReading checks what holds of every text: it is refused in the words of
// the package, or each proposal is valid and one format alone gives them.
func checkReading(t *testing.T, text []byte) {
	t.Helper()
	given := bytes.Clone(text)
	proposals, err := proposal.Read(text)
	if !bytes.Equal(given, text) {
		t.Fatalf("Read changed its input %q", given)
	}
	checkAnswer(t, text, proposals, err)
	if err != nil {
		return
	}
	readers := 0
	for _, format := range proposal.Formats() {
		again, err := proposal.ReadAs(format, text)
		checkAnswer(t, text, again, err)
		if err == nil {
			readers++
			if diff := cmp.Diff(proposals, again); diff != "" {
				t.Errorf("%q: Read and ReadAs(%s) differ:\n%s", text, format, diff)
			}
		}
	}
	if readers != 1 {
		t.Errorf("%q: %d formats read it", text, readers)
	}
}

func checkAnswer(t *testing.T, text []byte, proposals []tool.Proposal, err error) {
	t.Helper()
	if err != nil {
		if proposals != nil {
			t.Errorf("%q: %s beside the error %v", text, proposals, err)
		}
		if errors.Is(err, proposal.ErrNothing) {
			return
		}
		var malformed *proposal.Malformed
		if !errors.As(err, &malformed) {
			t.Fatalf("%q: %T: %v", text, err, err)
		}
		if malformed.Offset < 0 || malformed.Offset > len(text) || malformed.Reason == "" {
			t.Errorf("%q: %v in a text of %d bytes", text, malformed, len(text))
		}
		return
	}
	if len(proposals) == 0 {
		t.Errorf("%q: neither proposals nor an error", text)
	}
	for _, p := range proposals {
		if p.Name == "" || !utf8.ValidString(p.Name) {
			t.Errorf("%q: the name %q", text, p.Name)
		}
		tree, err := jsonvalue.Decode(p.Arguments)
		if err != nil {
			t.Errorf("%q: the arguments %s: %v", text, p.Arguments, err)
		}
		if _, ok := tree.(map[string]any); !ok {
			t.Errorf("%q: the arguments %s are no object", text, p.Arguments)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, tt := range accepted {
		f.Add([]byte(tt.text))
	}
	for _, tt := range refused {
		text, _ := tt.parts()
		f.Add([]byte(text))
	}
	for _, tt := range nothing {
		f.Add([]byte(tt.text))
	}
	f.Fuzz(checkReading)
}

// FuzzOffsetInArguments checks that a fault in an arguments string is told at
// the place where its first character is spelled, for every way to spell it.
func FuzzOffsetInArguments(f *testing.F) {
	for _, arguments := range []string{`{"a":1,"a":2}`, `{"a":1} x`, `{"😀":'`, "{\"a\":\"\n\"}", `[]`, ` {"é":tru}`, `{"a":1`} {
		for _, how := range []uint8{0, 1, 2, 3} {
			f.Add(arguments, how)
		}
	}
	f.Fuzz(func(t *testing.T, arguments string, how uint8) {
		if !utf8.ValidString(arguments) || len(arguments) > 4096 {
			return
		}
		_, err := jsonvalue.Decode([]byte(arguments))
		var syntax *jsonvalue.SyntaxError
		if !errors.As(err, &syntax) || arguments == "" || strings.HasPrefix(arguments, "\ufeff") {
			return
		}
		const before, after = `{"type":"function_call","name":"n","arguments":"`, `"}`
		var text strings.Builder
		text.WriteString(before)
		want := 0
		for i, r := range arguments {
			if i <= int(syntax.Offset) {
				want = text.Len()
			}
			text.WriteString(spell(r, how))
		}
		if int(syntax.Offset) == len(arguments) {
			want = text.Len()
		}
		text.WriteString(after)
		_, err = proposal.Read([]byte(text.String()))
		var malformed *proposal.Malformed
		if !errors.As(err, &malformed) {
			t.Fatalf("%s: %v, but the arguments: %v", text.String(), err, syntax)
		}
		if malformed.Offset != want || malformed.Reason != "in arguments: "+syntax.Reason {
			t.Errorf("%s: %v, want %s at %d", text.String(), malformed, syntax.Reason, want)
		}
	})
}

// spell writes a character in a JSON string in one of four ways.
func spell(r rune, how uint8) string {
	if how%4 == 0 || how%4 == 2 && r%2 == 0 {
		return escaped(r)
	}
	quoted, _ := json.Marshal(string(r))
	if how%4 == 1 && r == '/' {
		return `\/`
	}
	return string(quoted[1 : len(quoted)-1])
}

func escaped(r rune) string {
	const hex = "0123456789abcDEF"
	unit := func(u rune) string {
		return `\u` + string([]byte{hex[u>>12&15], hex[u>>8&15], hex[u>>4&15], hex[u&15]})
	}
	if r > 0xFFFF {
		r -= 0x10000
		return unit(0xD800+r>>10) + unit(0xDC00+r&0x3FF)
	}
	return unit(r)
}
