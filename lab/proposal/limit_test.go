package proposal_test

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"agentlab/lab/proposal"
)

// fill repeats a text between a head and a tail up to the limit of a document.
func fill(head, repeated, tail string) string {
	return head + strings.Repeat(repeated, (proposal.MaxBytes-len(head)-len(tail))/len(repeated)) + tail
}

func TestLimitOfADocument(t *testing.T) {
	const head, tail = `{"functionCall":{"name":"n","args":{"a":"`, `"}}}`
	longest := head + strings.Repeat("a", proposal.MaxBytes-len(head)-len(tail)) + tail
	got, err := proposal.Read([]byte(longest))
	if err != nil || len(got) != 1 {
		t.Errorf("a text of %d bytes: %v", len(longest), err)
	}
	for _, text := range []string{longest + " ", longest + strings.Repeat("\xff", 9)} {
		_, err = proposal.Read([]byte(text))
		want := proposal.Malformed{Offset: 1048576, Reason: "longer than 1048576 bytes"}
		if malformed := new(proposal.Malformed); !errors.As(err, &malformed) || *malformed != want {
			t.Errorf("a text of %d bytes: %v", len(text), err)
		}
	}
}

func TestLimitsAreTaken(t *testing.T) {
	tests := []struct{ name, text string }{
		{"64 levels", `{"functionCall":{"name":"n","args":{"a":` + strings.Repeat("[", 61) + strings.Repeat("]", 61) + `}}}`},
		{"64 levels in a string", inItem(`{\"a\":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`)},
		{"400 digits", `{"functionCall":{"name":"n","args":{"a":` + strings.Repeat("9", 400) + `}}}`},
		{"exponents of 400", inItem(`{\"a\":[1e400,1e-400]}`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := proposal.Read([]byte(tt.text)); err != nil || len(got) != 1 {
				t.Errorf("Read = %s, %v", got, err)
			}
		})
	}
}

func TestHostileTextTakesLinearTime(t *testing.T) {
	const limit = raceFactor * time.Second // some hundredths are usual; a quadratic reader takes minutes
	keys := func(quote string) string {
		var b strings.Builder
		for i := 0; b.Len() < proposal.MaxBytes-100; i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quote + strings.Repeat("k", i%7) + string(rune('a'+i%26)) + strconv.Itoa(i) + quote + ":0")
		}
		return b.String()
	}
	tests := []struct{ name, text string }{
		{"brackets", fill("", "[", "")},
		{"brackets in an arguments string", fill(`{"type":"function_call","name":"n","arguments":"`, "[", `"}`)},
		{"empty arrays", fill(`{"functionCall":{"name":"n","args":{"a":[[]`, ",[]", "]}}}")},
		{"empty objects in a list", fill("[{}", ",{}", "]")},
		{"parts", fill(`[{"text":""}`, `,{"functionCall":{"name":"n"}}`, "]")},
		{"tool calls", fill(`{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"n","arguments":"{}"}}`,
			`,{"type":"function","function":{"name":"n","arguments":"{}"}}`, "]}")},
		{"keys", `{"functionCall":{"name":"n","args":{` + keys(`"`) + `}}}`},
		{"keys of the document", `{` + keys(`"`) + `}`},
		{"keys in an arguments string", inItem(`{` + keys(`\"`) + `}`)},
		{"a long key twice", `{"` + strings.Repeat("k", 1<<19-20) + `":1,"` + strings.Repeat("k", 1<<19-20) + `":2}`},
		{"escapes up to a fault", fill(`{"type":"function_call","name":"n","arguments":"`, `\u0020`, `x"}`)},
		{"pairs up to a fault", fill(`{"type":"function_call","name":"n","arguments":"{\"a\":\"`, `\ud83d\ude00`, `"}`)},
		{"an unclosed string", fill(`{"a":"`, "a", "")},
		{"an unclosed string of escapes", fill(`{"a":"`, `\\`, "")},
		{"a long number", fill(`{"a":`, "1", "}")},
		{"white space", fill("{", " ", "}")},
		{"white space alone", fill("", " ", "")},
		{"fences", fill("", "```\n", "")},
		{"one long fence", fill("", "`", "")},
		{"longer and longer fences", fences()},
		{"a long tag", fill("```", "json ", "")},
		{"blocks", fill("```json\n{\"name\":\"n\",\"arguments\":{}}\n```\n", "```\n```\n", "")},
		{"lines", fill("", "\n", "```")},
		{"lone carriage returns", fill("```json\r", "\r", "")},
		{"runs of two", fill("", "``~~", "```")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := []byte(tt.text)
			if len(text) > proposal.MaxBytes || len(text) < proposal.MaxBytes-200 {
				t.Fatalf("%d bytes", len(text))
			}
			// A busy machine can make one attempt slow, but not each.
			var err error
			fastest := time.Duration(math.MaxInt64)
			for attempt := 0; attempt < 3 && fastest > limit; attempt++ {
				start := time.Now()
				_, err = proposal.Read(text)
				fastest = min(fastest, time.Since(start))
			}
			if fastest > limit {
				t.Errorf("took %v", fastest)
			}
			if err != nil {
				var malformed *proposal.Malformed
				if !errors.Is(err, proposal.ErrNothing) && !errors.As(err, &malformed) {
					t.Errorf("%T", err)
				}
				if len(err.Error()) > 200 {
					t.Errorf("an error of %d bytes", len(err.Error()))
				}
			}
		})
	}
}

func fences() string {
	var b strings.Builder
	for n := 3; b.Len()+n+1 <= proposal.MaxBytes; n++ {
		b.WriteString(strings.Repeat("`", n) + "\n")
	}
	return b.String() + strings.Repeat(" ", proposal.MaxBytes-b.Len())
}
