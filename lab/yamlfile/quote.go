package yamlfile

import (
	"fmt"
	"strings"

	"agentlab/lab/jsonvalue"
)

// bare is a text that YAML takes for a string without quotes.
var bare = Grammar(`^[A-Za-z][A-Za-z0-9_-]*$`)

// Word writes a text as YAML: as it is, where YAML takes it for that string, else
// in quotes.
func Word(text string) string {
	switch strings.ToLower(text) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
	default:
		if bare().MatchString(text) {
			return text
		}
	}
	return Quote(text)
}

// Quote quotes a text for YAML, which takes what JSON does, but for a few
// characters that it folds or refuses.
func Quote(text string) string {
	var b strings.Builder
	for _, r := range string(jsonvalue.AppendString(nil, text)) {
		if r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == '\ufffe' || r == '\uffff' {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
