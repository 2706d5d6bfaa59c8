package generate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"agentlab/lab/jsonvalue"
)

// rewritten is the same JSON in another form: the members in the opposite order,
// whole numbers with a fraction of zero, and the first character of each text as an
// escape. It is nil where there is no other form.
func rewritten(document json.RawMessage) json.RawMessage {
	value, err := jsonvalue.Decode(document)
	if err != nil {
		return nil
	}
	var b strings.Builder
	write(&b, value)
	if b.String() == string(document) {
		return nil
	}
	return json.RawMessage(b.String())
}

func write(b *strings.Builder, value any) {
	switch v := value.(type) {
	case map[string]any:
		b.WriteByte('{')
		names := slices.Sorted(maps.Keys(v))
		slices.Reverse(names)
		for i, name := range names {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(jsonvalue.AppendString(nil, name))
			b.WriteByte(':')
			write(b, v[name])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, item)
		}
		b.WriteByte(']')
	case json.Number:
		b.WriteString(v.String())
		if !strings.ContainsAny(v.String(), ".eE") {
			b.WriteString(".0")
		}
	case string:
		b.WriteString(escaped(v))
	default:
		b.Write(jsonvalue.AppendCanonical(nil, v))
	}
}

// escaped is a text in JSON whose first character is an escape.
func escaped(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return `""`
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, unit := range utf16.Encode([]rune{first}) {
		fmt.Fprintf(&b, `\u%04x`, unit)
	}
	b.Write(jsonvalue.AppendString(nil, text[size:])[1:])
	return b.String()
}
