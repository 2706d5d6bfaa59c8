package yamlfile

import "strings"

// Field is one key of a mapping of a format, and how its value is read into the
// T that the mapping becomes. R is the reader of the room.
type Field[R Embedding, T any] struct {
	Name     string
	Required bool
	words    string // what it is, for whoever left it out; "" where its name says it
	read     func(R, Place, *T)
}

// Required is a key that a mapping must have.
func Required[R Embedding, T any](name string, read func(R, Place, *T)) Field[R, T] {
	return Field[R, T]{Name: name, Required: true, read: read}
}

// Being is the key with words for what it is, which whoever leaves it out is told.
func (f Field[R, T]) Being(words string) Field[R, T] {
	f.words = words
	return f
}

// Optional is a key that a mapping may have.
func Optional[R Embedding, T any](name string, read func(R, Place, *T)) Field[R, T] {
	return Field[R, T]{Name: name, read: read}
}

// Table holds the keys of a mapping.
type Table[R Embedding, T any] []Field[R, T]

// Names are the keys, in the order of the table.
func (t Table[R, T]) Names() []string {
	names := make([]string, len(t))
	for i, f := range t {
		names[i] = f.Name
	}
	return names
}

// Required tells of each key whether a mapping must have it.
func (t Table[R, T]) Required() map[string]bool {
	keys := make(map[string]bool)
	for _, f := range t {
		keys[f.Name] = f.Required
	}
	return keys
}

// ObjectSuch is [Object], and shows an example to whoever wrote something else
// than a mapping.
func ObjectSuch[R Embedding, T any](room R, p Place, example string, fields Table[R, T], into *T) (map[string]Place, bool) {
	if !room.reader().expect(p, Mapping, string(Mapping)+", such as "+example) {
		return nil, false
	}
	return Object(room, p, fields, into)
}

// Object reads a mapping by a table and returns the places of the values that
// the table knows. It reports whether there is a mapping at all.
func Object[R Embedding, T any](room R, p Place, fields Table[R, T], into *T) (map[string]Place, bool) {
	r := room.reader()
	members, ok := r.Members(p)
	if !ok {
		return nil, false
	}
	seen := make(map[string]Place)
	given := make(map[string]bool)
next:
	for _, m := range members {
		given[m.Name] = true
		if r.Foreign && m.Value.Kind() == Null {
			continue
		}
		for _, f := range fields {
			if f.Name == m.Name {
				seen[m.Name] = m.Value
				f.read(room, m.Value, into)
				continue next
			}
		}
		if !r.Foreign {
			r.Fault(m.Key, "unknown key"+Instead(m.Name, fields.Names(), "the keys are"))
		}
	}
	for _, f := range fields {
		if f.Required && !given[f.Name] && p.Whole() {
			r.Fault(p.Member(f.Name), strings.TrimSuffix("missing: "+f.words, ": "))
		}
	}
	return seen, true
}
