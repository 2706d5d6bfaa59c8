package report

import (
	"encoding/json"
	"io"
)

// writeDocument writes a value as one JSON document, for people and programs.
func writeDocument(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
