package tool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Catalog encodes definitions as a function-calling API is sent them: a JSON
// array sorted by tool name, compact UTF-8 without HTML escaping, each tool an
// object with the keys type, name, description, parameters and, where the
// definition is strict, strict, in that order. The schemas keep their key
// order. An input schema that is not JSON is an error.
func Catalog(definitions []Definition) ([]byte, error) {
	sorted := slices.Clone(definitions)
	slices.SortFunc(sorted, func(a, b Definition) int { return cmp.Compare(a.Name, b.Name) })

	type function struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      bool            `json:"strict,omitempty"`
	}
	functions := make([]function, 0, len(sorted))
	for _, d := range sorted {
		// encoding/json takes invalid UTF-8 for JSON and would hand it on.
		if !json.Valid(d.InputSchema) || !utf8.Valid(d.InputSchema) {
			return nil, fmt.Errorf("tool %q: the input schema is not JSON", d.Name)
		}
		functions = append(functions, function{"function", d.Name, d.Description, d.InputSchema, d.Strict})
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(functions); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
