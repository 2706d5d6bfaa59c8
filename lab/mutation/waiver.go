package mutation

import (
	_ "embed"
	"fmt"
	"strings"

	"agentlab/lab/yamlfile"
)

// WaiverSchema is the JSON Schema (draft 07) of a waiver file.
//
//go:embed waivers.schema.json
var WaiverSchema []byte

// reader turns a document into waivers.
type reader struct {
	yamlfile.Reader
	given map[string]int // the line of each mutant's waiver
}

type place = yamlfile.Place

// ReadWaivers reads the waiver file at path. The error is a [*yamlfile.Invalid], or
// that of a file that cannot be read.
func ReadWaivers(path string) ([]Waiver, error) {
	text, err := yamlfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("read the waivers: %w", err)
	}
	return DecodeWaivers(text, path)
}

// DecodeWaivers reads the text of a waiver file, which faults name as file. There
// are no variables in it. The error is a [*yamlfile.Invalid].
func DecodeWaivers(text []byte, file string) ([]Waiver, error) {
	r := &reader{yamlfile.Reader{File: file, Env: func(string) (string, bool) { return "", false }}, make(map[string]int)}
	var all []Waiver
	if root, ok := r.Document(text); ok {
		yamlfile.Object(r, root, fileFields, &all)
	}
	if err := r.Invalid(); err != nil {
		return nil, err
	}
	return all, nil
}

var fileFields = yamlfile.Table[*reader, []Waiver]{
	yamlfile.Required("version", func(r *reader, p place, _ *[]Waiver) { r.Version(p) }),
	yamlfile.Required("waivers", func(r *reader, p place, all *[]Waiver) { r.waivers(p, all) }),
}

var waiverFields = yamlfile.Table[*reader, Waiver]{
	yamlfile.Required("mutant", func(r *reader, p place, w *Waiver) { w.Mutant = r.mutant(p) }).Being("the id of a mutant, as lab mutate shows it"),
	yamlfile.Required("reason", func(r *reader, p place, w *Waiver) { w.Reason = r.reason(p) }).Being("why no case could notice the mutant"),
}

const aWaiver = `{mutant: removed/rate, reason: "..."}`

func (r *reader) waivers(p place, all *[]Waiver) {
	items, _ := r.Items(p, "a list of mappings, such as ["+aWaiver+"]")
	for _, item := range items {
		w := Waiver{Line: item.Line()}
		if _, ok := yamlfile.ObjectSuch(r, item, aWaiver, waiverFields, &w); ok {
			*all = append(*all, w)
		}
	}
}

// mutant reads an id, which has one waiver.
func (r *reader) mutant(p place) string {
	id, ok := r.Filled(p, "the id of a mutant")
	if !ok {
		return ""
	}
	if line, twice := r.given[id]; twice {
		r.Fault(p, fmt.Sprintf("the mutant has a waiver already, on line %d", line))
	}
	r.given[id] = p.Line()
	return id
}

// reason reads a reason, which says something.
func (r *reader) reason(p place) string {
	text, ok := r.Filled(p, "a reason")
	if ok && strings.TrimSpace(text) == "" {
		r.Fault(p, "must be a reason, not white space")
	}
	return text
}
