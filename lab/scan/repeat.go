package scan

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"agentlab/lab/jsonvalue"
)

// keyNames are what nothing is called but a key under which a call is carried out
// once. A request_id may as well be the id of something.
var keyNames = []string{"idempotency_key", "idempotencyKey", "client_token", "clientToken", "client_request_id", "clientRequestId",
	"dedupe_key", "dedupeKey", "deduplication_id", "deduplicationId"}

// keys are the properties of the tool that are such a key, by their name or by what
// is written beside it.
func (l *look) keys() []string {
	names := slices.Clone(keyNames)
	properties := l.properties()
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		var about struct{ Description string }
		if json.Unmarshal(properties[name], &about) == nil && strings.Contains(strings.ToLower(about.Description), "idempoten") {
			names = append(names, name)
		}
	}
	return names
}

// offered is the first of some names that is a property of the arguments and takes
// the value; empty for none.
func (l *look) offered(base object, names []string, value any) string {
	properties := l.properties()
	at := slices.IndexFunc(names, func(name string) bool {
		_, declared := properties[name]
		return declared && l.fits != nil && l.fits(with(base, name, value))
	})
	if at < 0 {
		return ""
	}
	return names[at]
}

// properties are those that the input schema declares at its top.
func (l *look) properties() map[string]json.RawMessage {
	var top struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(l.d.InputSchema, &top) // it was compiled
	return top.Properties
}

func with(base object, name string, value any) object {
	changed := maps.Clone(base)
	if changed == nil {
		changed = make(object)
	}
	changed[name] = value
	return changed
}

func encoded(arguments object) json.RawMessage { return jsonvalue.AppendCanonical(nil, arguments) }

// repeat makes the plain call twice, with a key where the tool takes one. Whoever
// lost the answer of the first would do the same.
func (l *look) repeat(ctx context.Context, base object) error {
	key := l.offered(base, l.keys(), "lab-scan-1")
	if key != "" {
		base = with(base, key, "lab-scan-1")
	}
	arguments := encoded(base)
	r, first, err := l.call(ctx, arguments)
	if err != nil {
		return err
	}
	l.came(r)
	switch {
	case r == nil:
		return nil
	case !carriedOut(r):
		l.unlooked("whether a repeat is carried out twice: no call of it succeeded")
		return l.pages(ctx, base)
	case len(first) == 0:
		return l.pages(ctx, base)
	}
	again, second, err := l.call(ctx, arguments)
	if err != nil || again == nil {
		return err
	}
	l.noteError(again)
	if len(second) > 0 {
		switch {
		case key != "":
			l.find(RepeatDespiteKey, arguments, begins(again), "The same call with the same %s was carried out twice; at the second time %s.", key, listed(second))
		case saysIdempotent(l.d):
			l.find(RepeatDespiteHint, arguments, begins(again), "The tool says idempotentHint; at the second of two same calls %s.", listed(second))
		default:
			l.find(RepeatApplied, arguments, begins(again), "At the second of two same calls %s; the tool takes no key.", listed(second))
		}
	}
	return l.pages(ctx, base)
}
