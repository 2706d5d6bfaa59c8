package schema

import "encoding/json"

// WithProperty adds a property that is required to a schema of objects, as the last
// of its properties and of what it requires. All else stays where it is, and whether
// it judges the property too is not looked at.
func WithProperty(document json.RawMessage, name string, property json.RawMessage) (json.RawMessage, error) {
	for _, text := range []json.RawMessage{document, property} {
		if _, err := read(text); err != nil {
			return nil, err
		}
	}
	root := parse(document)
	root = root.with("properties", root.get("properties").with(name, parse(property)))
	root = root.with("required", root.get("required").and(plainText(name)))
	return root.append(nil), nil
}
