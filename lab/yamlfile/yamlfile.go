// Package yamlfile reads files that people write, in YAML, so strictly that
// nothing in them has two readings, and tells everything that is wrong with one
// at once, each fault with its line and column.
//
// Start with a [Reader]: [Reader.Document] gives the [Place] of the whole value,
// [Object] takes a mapping apart by a [Table] of the keys that a format has, and
// methods such as [Reader.Text] read what stands at a place and note what is wrong
// there. At the end [Reader.Invalid] is nil or an [*Invalid] with all faults. A
// room that has a format embeds a Reader in one of its own, which the functions of
// its tables get.
//
// One invariant: no fault tells what a variable was expanded to. What the
// environment holds may be secret, and faults end in logs.
//
// It knows no format. The suite file is that of lab/suite, the contract file that
// of lab/overlay.
//
// # Decisions
//
// Where YAML offers two readings of a file, this one has none: anchors, aliases,
// merge keys, tags, a second document and duplicate keys are faults. Numbers and
// booleans are no strings, and null is no value. A byte-order mark before the
// first line is passed over, as editors write it unasked. JSON is YAML too, and
// so are its escapes, of which the library does not know all.
//
// What is wanted as JSON ([Reader.JSON]) keeps the order of its keys, and its
// numbers as they are written: 1.50 stays that.
package yamlfile

import (
	"io"
	"os"
	"regexp"
	"sync"
)

// MaxFile is the longest file that is read, in bytes.
const MaxFile = 1 << 20

// Read reads the text of a file. It takes one byte more than a file may have,
// for [Reader.Document] to see it.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxFile+1))
}

// Reader turns a document into what a format makes of it, and gathers what is
// wrong with it. It reads one file and is not safe for concurrent use.
type Reader struct {
	File   string // as faults name it
	Folder string // what relative paths are relative to
	// Env looks up a variable of the environment.
	Env func(name string) (value string, set bool)
	// SandboxIn says where the format knows [SandboxVariable], in words of a
	// fault: "command and env". Empty is nowhere.
	SandboxIn string
	// Foreign says that others write in this file too: unknown keys and null are
	// passed over.
	Foreign bool

	expanded int  // bytes of the values so far
	full     bool // there were too many of them
	faults   []Fault
}

// Faulty reports whether there is a fault so far.
func (r *Reader) Faulty() bool { return len(r.faults) > 0 }

// reader is the Reader in whatever embeds it.
func (r *Reader) reader() *Reader { return r }

// Embedding is a [*Reader], or a type of a room's own that embeds one.
type Embedding interface{ reader() *Reader }

// Grammar compiles a pattern when it is first needed: most runs read no such
// file, and all patterns cost as much as a tenth of such a run's start.
func Grammar(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
