package eval

import (
	"bytes"
	"encoding/json"

	"agentlab/lab/jsonvalue"
)

// part is a JSON value that a part of another has to equal.
type part struct {
	json  json.RawMessage
	value any
}

// newPart returns nil for no document. A dataset holds only documents that have
// one reading; any other is a part of nothing.
func newPart(document json.RawMessage) *part {
	if document == nil {
		return nil
	}
	value, err := jsonvalue.Decode(document)
	if err != nil {
		value = err
	}
	if packed, ok := compact(document); ok {
		document = packed
	}
	return &part{document, value}
}

// grade compares with a document; nil, which is null in the grade, stands for
// none, and nothing is a part of it.
func (p *part) grade(name string, actual json.RawMessage) Grade {
	if actual == nil {
		return Grade{Name: name, Expected: p.json, Actual: null}
	}
	value, err := jsonvalue.Decode(actual)
	return Grade{name, err == nil && isPart(p.value, value), p.json, actual}
}

// isPart reports whether of an object some members, of an array every item in
// its place, and all else as it is, equal what is expected. Numbers are equal
// where they say the same number. Both are trees of [jsonvalue.Decode].
func isPart(expected, actual any) bool {
	switch e := expected.(type) {
	case map[string]any:
		a, ok := actual.(map[string]any)
		if !ok {
			return false
		}
		for name, member := range e {
			found, ok := a[name]
			if !ok || !isPart(member, found) {
				return false
			}
		}
		return true
	case []any:
		a, ok := actual.([]any)
		if !ok || len(a) != len(e) {
			return false
		}
		for i := range e {
			if !isPart(e[i], a[i]) {
				return false
			}
		}
		return true
	case json.Number:
		a, ok := actual.(json.Number)
		return ok && bytes.Equal(jsonvalue.AppendCanonical(nil, e), jsonvalue.AppendCanonical(nil, a))
	case string, bool, nil:
		return e == actual
	}
	return false
}
