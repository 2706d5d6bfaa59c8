package governed

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"agentlab/lab/jsonvalue"
)

// Remarks tell what came to light of the contracts while calls were made, sorted: a
// field that is to be redacted, and that no successful answer of its tool has held
// so far. Most often it is misspelt, and then nothing was redacted. Of a tool that
// has not answered nothing is told. It may be called at any time.
func (s *Surface) Remarks() []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		for _, field := range s.tools[name].missed.fields() {
			all = append(all, fmt.Sprintf("%s: %s: redact: no answer held a field %q", s.Name(), name, field))
		}
	}
	return all
}

// missed are the fields to redact that no answer of a tool has held. It is safe for
// concurrent use: all sessions of a surface share it.
type missed struct {
	mu       sync.Mutex
	names    map[string]bool
	answered bool
}

func newMissed(fields []string) *missed {
	m := &missed{names: make(map[string]bool, len(fields))}
	for _, name := range fields {
		m.names[name] = true
	}
	return m
}

// fields are they, sorted, or none as long as there was no answer.
func (m *missed) fields() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.answered {
		return nil
	}
	return slices.Sorted(maps.Keys(m.names))
}

// answer takes note of what a successful answer holds.
func (m *missed) answer(output json.RawMessage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answered = true
	if len(m.names) == 0 {
		return // the rule, after the first answer
	}
	if value, err := jsonvalue.Decode(output); err == nil {
		m.value(value, 0)
	}
}

// value looks for the fields wherever the redactor does.
func (m *missed) value(value any, nested int) {
	switch v := value.(type) {
	case string:
		m.text(v, nested)
	case []any:
		for _, item := range v {
			m.value(item, nested)
		}
	case map[string]any:
		for name, member := range v {
			delete(m.names, name)
			m.value(member, nested)
		}
	}
}

func (m *missed) text(text string, nested int) {
	start := strings.Trim(text, "\ufeff \t\r\n")
	if start == "" {
		return
	}
	if like := likeJSON(start); like || start[0] == '[' || start[0] == '"' {
		value, err := jsonvalue.Decode([]byte(start))
		switch {
		case nested > maxNested, err != nil && like:
			clear(m.names) // it is redacted as a whole, and nobody knows what it held
			return
		case err == nil:
			m.value(value, nested+1)
			return
		}
	}
	for _, member := range memberName().FindAllStringSubmatch(text, -1) {
		delete(m.names, member[1])
	}
}
