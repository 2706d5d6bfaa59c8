package pin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"agentlab/lab/jsonvalue"
)

// MaxFile is the longest file that is read, in bytes.
const MaxFile = 32 << 20

// Error says why a text is no lock.
type Error struct {
	Pointer string // JSON Pointer into the file; "" is the whole
	Reason  string
}

func (e *Error) Error() string {
	if e.Pointer == "" {
		return "not a lock: " + e.Reason
	}
	return "not a lock: " + e.Pointer + ": " + e.Reason
}

// ReadFile reads the lock in a file. An error that is no [*Error] is the
// system's.
func ReadFile(path string) (Lock, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Lock{}, err
	}
	if !info.Mode().IsRegular() {
		return Lock{}, &os.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return Lock{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return Lock{}, err
	}
	return Decode(text)
}

// Decode reads a lock strictly: what is not known is refused, and so is a digest
// that does not fit what it stands beside. Every error is an [*Error].
func Decode(text []byte) (Lock, error) {
	if len(text) > MaxFile {
		return Lock{}, &Error{Reason: fmt.Sprintf("it is longer than %d MiB", MaxFile>>20)}
	}
	tree, err := jsonvalue.Decode(text)
	if err != nil {
		fault := &Error{Reason: err.Error()}
		if syntax := (*jsonvalue.SyntaxError)(nil); errors.As(err, &syntax) {
			fault.Pointer = cut(syntax.Pointer)
			fault.Reason = fmt.Sprintf("%s (byte %d)", syntax.Reason, syntax.Offset)
		}
		return Lock{}, fault
	}
	l, fault := decode(tree)
	if fault != nil {
		return Lock{}, fault
	}
	return l, nil
}

type object = map[string]any

const edited = "it does not fit what it stands for: the file was edited by hand"

func decode(tree any) (Lock, *Error) {
	// The version comes first: another one may have other keys.
	file, ok := tree.(object)
	if version, is := file["version"].(json.Number); ok && (!is || string(version) != fmt.Sprint(Version)) {
		return Lock{}, &Error{"/version", fmt.Sprintf("it must be %d", Version)}
	}
	if _, fault := members("", tree, "version", "catalog", "tools"); fault != nil {
		return Lock{}, fault
	}
	tools, ok := file["tools"].(object)
	if !ok {
		return Lock{}, &Error{"/tools", "it must be an object"}
	}
	var l Lock
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		at := pointer("/tools", name)
		held, fault := members(at, tools[name], parts...)
		if fault != nil {
			return Lock{}, fault
		}
		if held[Description] == nil {
			return Lock{}, &Error{at, "it has no description"}
		}
		t := locked{name, make(map[string]part, len(held))}
		for _, name := range parts {
			if value, ok := held[name]; ok {
				if t.parts[name], fault = decodePart(pointer(at, name), name, value); fault != nil {
					return Lock{}, fault
				}
			}
		}
		l.tools = append(l.tools, t)
	}
	if file["catalog"] != l.Digest() {
		return Lock{}, &Error{"/catalog", edited}
	}
	return l, nil
}

func decodePart(at, name string, value any) (part, *Error) {
	held, fault := members(at, value, "digest", "text", "value")
	if fault != nil {
		return part{}, fault
	}
	text, isText := held["text"]
	tree, isJSON := held["value"]
	var p part
	switch {
	case isText == isJSON || isJSON && name == Description:
		return part{}, &Error{at, "it must have a digest and what it stands for"}
	case isJSON:
		p = part{string(jsonvalue.AppendCanonical(nil, tree)), true}
	default:
		written, ok := text.(string)
		if !ok {
			return part{}, &Error{pointer(at, "text"), "it must be a string"}
		}
		p.text = written
	}
	if held["digest"] != p.digest() {
		return part{}, &Error{pointer(at, "digest"), edited}
	}
	return p, nil
}

// members reads an object of these keys at most.
func members(at string, value any, known ...string) (object, *Error) {
	o, ok := value.(object)
	if !ok {
		return nil, &Error{at, "it must be an object"}
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(known, name) {
			return nil, &Error{pointer(at, name), "it is not known here; known are " + strings.Join(known, ", ")}
		}
	}
	return o, nil
}

// pointer goes one step down. A long name is cut: it is told, not followed.
func pointer(at, name string) string { return at + "/" + cut(jsonvalue.Token(name)) }
