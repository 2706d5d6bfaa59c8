package jsonvalue

import (
	"strconv"
	"strings"
)

var (
	escaper   = strings.NewReplacer("~", "~0", "/", "~1")
	unescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

// Token writes a name as a step of a JSON Pointer (RFC 6901), without its slash.
func Token(name string) string { return escaper.Replace(name) }

// TokenName is the name that a step of a JSON Pointer stands for.
func TokenName(token string) string { return unescaper.Replace(token) }

// Find follows a JSON Pointer from a value that [Decode] returned. The second
// value is false where it leads nowhere.
func Find(value any, pointer string) (any, bool) {
	if pointer == "" {
		return value, true
	}
	steps, ok := strings.CutPrefix(pointer, "/")
	if !ok {
		return nil, false
	}
	for token := range strings.SplitSeq(steps, "/") {
		switch v := value.(type) {
		case map[string]any:
			if value, ok = v[TokenName(token)]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}
