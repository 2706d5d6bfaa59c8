package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"agentlab/lab/jsonvalue"
)

// MaxDocument bounds the JSON that a probe reads, in bytes.
const MaxDocument = 16 << 20

// JSON looks at one JSON document, which read fetches, such as the output of a
// tool that only reads. A text with more than one reading is an error.
//
// An entry is what stands at most two steps below the root: the items of a root
// array; of a root object each member that is neither array nor object, and the
// members or items of one that is. A root that is neither is one entry, ".". What
// stands deeper belongs to its entry, and an empty array or object is none.
//
// A resource is like a JSON Pointer: /settings/color. An item of an array is
// named by the first of its members id, uuid, key and name that is a string or
// a number and that no other item has: /entities/name="Ann". One without is
// named by what it is: /relations/sha256:0123456789abcdef, and its equals have
// #2, #3 after it. So an item that is taken out is one effect, and no other is
// renamed; an item without a name that changes is one removed and one added.
// Long names are cut, and end in a digest of all of it.
func JSON(kind string, read func(ctx context.Context) ([]byte, error)) Probe {
	return document(kind, "", read)
}

func document(kind, target string, read func(ctx context.Context) ([]byte, error)) Probe {
	return probe{kind, target, func(ctx context.Context) (Snapshot, error) {
		text, err := read(ctx)
		if err != nil {
			return nil, err
		}
		if len(text) > MaxDocument {
			return nil, errTooLong
		}
		return entries(text)
	}}
}

var errTooLong = &fault{reason: fmt.Sprintf("the document is longer than %d bytes", MaxDocument)}

func entries(text []byte) (Snapshot, error) {
	root, err := jsonvalue.Decode(text)
	if err != nil {
		f := &fault{"it is not one JSON document", err.Error(), err}
		var syntax *jsonvalue.SyntaxError
		if errors.As(err, &syntax) && syntax.Reason == "duplicate key" {
			f.reason = "the JSON document has a key twice"
		}
		return nil, f
	}
	seen := make(Snapshot)
	switch root := root.(type) {
	case map[string]any:
		for name, member := range root {
			if err := seen.put("/"+token(name), member); err != nil {
				return nil, err
			}
		}
		return seen, nil
	case []any:
		return seen, seen.items("/", root)
	}
	return seen, seen.add(".", entry(root))
}

// put adds the members or the items of a value, or the value where it is neither
// array nor object.
func (s Snapshot) put(at string, value any) error {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if err := s.add(at+"/"+token(name), entry(member)); err != nil {
				return err
			}
		}
		return nil
	case []any:
		return s.items(at+"/", v)
	}
	return s.add(at, entry(value))
}

func entry(value any) Entry {
	text := jsonvalue.AppendCanonical(nil, value)
	return Entry{Size: int64(len(text)), Digest: sha256.Sum256(text)}
}

// nameKeys are the members that name an item, the best first.
var nameKeys = []string{"id", "uuid", "key", "name"}

func (s Snapshot) items(at string, items []any) error {
	if len(items) > MaxEntries {
		return errTooMany
	}
	count := make(map[string]int) // how many items have a name
	for _, item := range items {
		for _, key := range nameKeys {
			if name := nameBy(key, item); name != "" {
				count[name]++
			}
		}
	}
	equal := make(map[string]int)
	for _, item := range items {
		e := entry(item)
		e.Collection = at
		resource := ""
		for _, key := range nameKeys {
			if name := nameBy(key, item); count[name] == 1 {
				resource = at + token(name)
				break
			}
		}
		if resource == "" {
			resource = at + "sha256:" + hex.EncodeToString(e.Digest[:8])
			if equal[resource]++; equal[resource] > 1 {
				resource += fmt.Sprintf("#%d", equal[resource])
			}
		}
		if err := s.add(resource, e); err != nil {
			return err
		}
	}
	return nil
}

// nameBy is key=value, or empty.
func nameBy(key string, item any) string {
	object, _ := item.(map[string]any)
	switch value := object[key].(type) {
	case string, json.Number:
		return string(jsonvalue.AppendCanonical([]byte(key+"="), value))
	}
	return ""
}

// maxToken is the longest step of a pointer that is not cut, in bytes.
const maxToken = 120

// token writes one step of a JSON Pointer.
func token(name string) string { return jsonvalue.Token(short(name)) }

// short cuts a long name, and puts a digest of all of it to its end.
func short(name string) string {
	if len(name) <= maxToken {
		return name
	}
	digest := sha256.Sum256([]byte(name))
	cut := maxToken - 24
	for !utf8.RuneStart(name[cut]) && cut > 0 {
		cut--
	}
	return name[:cut] + "...sha256:" + hex.EncodeToString(digest[:8])
}
