package otel

import (
	"encoding/json"
	"strconv"
	"time"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/report"
	"agentlab/lab/tool"
)

// span is one that is being written, to the line of its report.
type span struct {
	attributes
}

// start begins a span now, and its attributes.
func (t *trace) start(id, parent, name string, took time.Duration) *span {
	t.report.next()
	dst := append(t.report.line, `{"traceId":"`+t.id+`","spanId":"`+id+`"`...)
	if parent != "" {
		dst = append(dst, `,"parentSpanId":"`+parent+`"`...)
	}
	dst = append(dst, `,"name":`...)
	dst = jsonvalue.AppendString(dst, name)
	dst = append(dst, `,"kind":1,"startTimeUnixNano":"`...) // internal
	dst = strconv.AppendInt(dst, Epoch.Add(t.now).UnixNano(), 10)
	dst = append(dst, `","endTimeUnixNano":"`...)
	dst = strconv.AppendInt(dst, Epoch.Add(t.now+took).UnixNano(), 10)
	dst = append(dst, `","attributes":[`...)
	return &span{attributes: attributes{dst: dst}}
}

// end ends a span, with the kind of its error where it has one.
func (t *trace) end(s *span, fault string) {
	if fault != "" {
		s.text("error.type", fault)
	}
	s.dst = append(s.dst, `]`...)
	if fault != "" {
		s.dst = append(s.dst, `,"status":{"code":2}`...)
	}
	t.report.line = append(s.dst, '}')
}

// attributes are appended to a list.
type attributes struct {
	dst  []byte
	some bool
}

func (a *attributes) key(key, kind string) {
	if a.some {
		a.dst = append(a.dst, ',')
	}
	a.some = true
	a.dst = append(a.dst, `{"key":"`+key+`","value":{"`+kind+`":`...)
}

func (a *attributes) text(key, value string) { a.whole(key, shown(value)) }

// whole is a text that is bounded already.
func (a *attributes) whole(key, value string) {
	a.key(key, "stringValue")
	a.dst = jsonvalue.AppendString(a.dst, value)
	a.dst = append(a.dst, "}}"...)
}

// number is a 64-bit integer, which proto3 JSON writes as a string.
func (a *attributes) number(key string, value int) {
	a.key(key, "intValue")
	a.dst = append(a.dst, '"')
	a.dst = strconv.AppendInt(a.dst, int64(value), 10)
	a.dst = append(a.dst, `"}}`...)
}

func (a *attributes) truth(key string, value bool) {
	a.key(key, "boolValue")
	a.dst = strconv.AppendBool(a.dst, value)
	a.dst = append(a.dst, "}}"...)
}

// maxTexts is how many texts of a list are told.
const maxTexts = 32

func (a *attributes) texts(key string, values []string) {
	a.key(key, "arrayValue")
	a.dst = append(a.dst, `{"values":[`...)
	for i, value := range values[:min(len(values), maxTexts)] {
		if i > 0 {
			a.dst = append(a.dst, ',')
		}
		a.dst = append(a.dst, `{"stringValue":`...)
		a.dst = jsonvalue.AppendString(a.dst, shown(value))
		a.dst = append(a.dst, '}')
	}
	a.dst = append(a.dst, "]}}}"...)
}

// shown is a text as it is told.
func shown(s string) string { return report.Visible(tool.Cut(s, maxText)) }

// redacted stands for what is secret.
const redacted = "[redacted]"

// arguments are the arguments of a call as JSON, without what is secret. What cannot
// be read cannot be searched for secrets, and is not told.
func arguments(document json.RawMessage, secret func(string) bool) string {
	value, err := jsonvalue.Decode(document)
	if err != nil {
		return "[unreadable]"
	}
	if secret != nil {
		value = without(value, secret)
	}
	return report.Visible(tool.Cut(string(jsonvalue.AppendCanonical(nil, value)), maxArguments))
}

// without redacts, in place, the values of secret fields.
func without(value any, secret func(string) bool) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = without(v[i], secret)
		}
	case map[string]any:
		for name, member := range v {
			if member != nil && secret(name) {
				v[name] = redacted
			} else {
				v[name] = without(member, secret)
			}
		}
	}
	return value
}
