package jsonvalue

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendCanonical appends the canonical form of a tree from [Decode]: the JSON
// Canonicalization Scheme of RFC 8785, so that key order, white space, escapes
// and the spelling of a number (1, 1.0, 1e0) make no difference.
//
// One extension: a number that a double cannot hold is written in full as its
// exact decimal, so that two 64-bit ids never become one. Strings are compared
// as they are, without Unicode normalisation, as the RFC demands.
func AppendCanonical(dst []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		if v {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case json.Number:
		text, _ := canonicalNumber(string(v))
		return append(dst, text...)
	case string:
		return AppendString(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendCanonical(dst, item)
		}
		return append(dst, ']')
	case map[string]any:
		keys := make([]string, 0, 8) // enough for most, and on the stack
		for key := range v {
			keys = append(keys, key)
		}
		slices.SortFunc(keys, compareUTF16)
		dst = append(dst, '{')
		for i, key := range keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendString(dst, key)
			dst = append(dst, ':')
			dst = AppendCanonical(dst, v[key])
		}
		return append(dst, '}')
	default:
		panic(fmt.Sprintf("jsonvalue: %T is not from Decode", value))
	}
}

// AppendString appends a JSON string with as few escapes as JSON allows.
// Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	// The error only repeats that the replacement was made.
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// compareUTF16 orders keys by their UTF-16 code units (RFC 8785, 3.2.3). The
// order is that of UTF-8 except that surrogates (of runes beyond U+FFFF) come
// before U+E000 to U+FFFF.
func compareUTF16(a, b string) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] == b[i] {
			continue
		}
		// Both are at the same place of a rune with the same start.
		for i > 0 && !utf8.RuneStart(a[i]) {
			i--
		}
		ra, _ := utf8.DecodeRuneInString(a[i:])
		rb, _ := utf8.DecodeRuneInString(b[i:])
		if beyond := ra > 0xFFFF; beyond != (rb > 0xFFFF) {
			if other := min(ra, rb); other >= 0xE000 {
				if beyond {
					return -1
				}
				return 1
			}
		}
		return int(ra) - int(rb)
	}
	return len(a) - len(b)
}
