// Package overlay reads contract files: what the runtime is to know of the tools
// of a server that was not written for it. It lays such a file over the tools that
// a live server lists.
//
// Start with [Read]. [File.Lay] takes the server's definitions and returns a [Tool]
// for each tool of the file: a whole contract, whose definition is what a model
// sees, and what stands between the model's call and the server's. [Schema] is the
// JSON Schema of the file, for editors.
//
// One invariant: whatever arguments a laid definition admits, the server's own
// admits without the added key. A file can only ask for more than the server does;
// where that cannot be shown, it is refused with the place of the key.
//
// It calls nothing: lab/governed does, and lab/pin compares what a server lists
// with what was reviewed. How YAML is read is said in lab/yamlfile.
//
// # Decisions
//
// Tools that the file does not name are not exposed. There is no other default:
// a tool that a server adds has no contract.
//
// Every fault of a file, and everything in which it disagrees with the server, is
// told at once and with its place, before any call.
//
// What names a resource has to be required by the schema as a string or a list of
// strings. A call that leaves it out would work on something that nobody looked
// at. Where a server leaves it optional, the file's input can require it.
//
// A key is only added where whoever reads the schema sees that nothing else in it
// looks at that key: so a combination (anyOf, not, ...) may stand beside it as long
// as each part judges the call alike with the key and without. References to the
// whole schema, bounds on the number of properties, rules for their names, and a
// reference in place of the whole do not let a key be added.
//
// A tool without an effect is a read, as most are, but only where its server's
// annotations or the verb in its name say so too: a write that was taken for a read
// would be met by no approval.
//
// A read has no key: its repeat would be told what was read before. A precondition
// is read by a tool that neither its server nor the file takes for one that changes
// something, since it is called without any confirmation. An argument that the call
// leaves out is left out of the precondition's call too.
//
// An error rule without result looks only at what the server calls an error: the
// text of a file that was read may hold ENOENT.
package overlay

import (
	_ "embed"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"agentlab/lab/yamlfile"
)

// Schema is the JSON Schema (draft-07) of the contract file.
//
//go:embed contract.schema.json
var Schema []byte

// DefaultTimeout is how long a call may take where the file does not say.
const DefaultTimeout = 10 * time.Second

// File is a contract file. It does not change and is safe for concurrent use.
type File struct {
	Path  string // as it was given
	Pin   string // the lock of the server's catalog; "" for none
	tools map[string]*entry
}

// Names are the tools of the file, sorted.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.tools)) }

// reader turns a document into a contract file.
type reader struct{ yamlfile.Reader }

type (
	place        = yamlfile.Place
	table[T any] = yamlfile.Table[*reader, T]
)

// Read reads the contract file at path. Variables are looked up by env. The
// error is a [*yamlfile.Invalid], or that of a file that cannot be read.
func Read(path string, env func(string) (string, bool)) (*File, error) {
	text, err := yamlfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("read the contract file: %w", err)
	}
	return parse(text, path, env)
}

func parse(text []byte, path string, env func(string) (string, bool)) (*File, error) {
	r := &reader{yamlfile.Reader{File: path, Folder: filepath.Dir(path), Env: env, SandboxIn: "within and the arguments of a precondition"}}
	f := &File{Path: path, tools: make(map[string]*entry)}
	if root, ok := r.Document(text); ok {
		yamlfile.Object(r, root, fileFields, f)
	}
	r.together(f)
	if err := r.Invalid(); err != nil {
		return nil, err
	}
	return f, nil
}

var fileFields = table[File]{
	yamlfile.Required("version", func(r *reader, p place, f *File) { r.Version(p) }),
	yamlfile.Optional("pin", func(r *reader, p place, f *File) {
		if text, ok := r.Filled(p, "a path"); ok {
			f.Pin = r.Under(text)
		}
	}),
	yamlfile.Optional("default", func(r *reader, p place, f *File) { yamlfile.Choice(&r.Reader, p, "deny") }),
	yamlfile.Required("tools", func(r *reader, p place, f *File) { r.tools(p, f) }),
}

func (r *reader) tools(p place, f *File) {
	members, ok := r.Members(p)
	if ok && len(members) == 0 {
		r.Fault(p, "must name at least one tool")
	}
	for _, m := range members {
		if m.Name == "" {
			r.Fault(m.Key, "must be the name of a tool, not an empty string")
		}
		if e := r.entry(m); e != nil {
			f.tools[m.Name] = e
		}
	}
}

// together checks what tools say of each other.
func (r *reader) together(f *File) {
	shared := make(map[string]*entry)
	for _, name := range f.Names() {
		e := f.tools[name]
		if of := e.Contract.Turn; of != "" {
			if first := shared[of]; first == nil {
				shared[of] = e
			} else if first.Contract.Concurrency != e.Contract.Concurrency {
				r.Fault(e.places["concurrency.of"], fmt.Sprintf("has another limit at %s: %d", yamlfile.Name(first.Contract.Name), first.Contract.Concurrency))
			}
		}
		if e.Precondition == nil {
			continue
		}
		if other := f.tools[e.Precondition.Tool]; other != nil && other.Contract.Effect.Changes() {
			r.Fault(e.places["precondition.call"], "must only read, and here its effect is "+string(other.Contract.Effect))
		}
	}
}
