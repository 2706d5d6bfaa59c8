package schema

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const suite = "../../tests/schema/suite/"

// suiteGroup is one line of the official suite as it is kept here.
type suiteGroup struct {
	File  string `json:"file"`
	Group struct {
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"schema"`
		Tests       []struct {
			Description string          `json:"description"`
			Data        json.RawMessage `json:"data"`
			Valid       bool            `json:"valid"`
		} `json:"tests"`
	} `json:"group"`
}

// listing is what the door does otherwise than the suite asks, with the reason.
// It holds for a whole group where it names no test.
type listing struct {
	Draft  string `json:"draft"`
	File   string `json:"file"`
	Group  string `json:"group"`
	Test   string `json:"test,omitempty"`
	Reason string `json:"reason"`
}

func (l listing) key() string { return strings.Join([]string{l.Draft, l.File, l.Group, l.Test}, " | ") }

var suites = map[string]Dialect{
	"draft4": Draft04, "draft6": Draft06, "draft7": Draft07, "draft2019-09": Draft201909, "draft2020-12": Draft202012,
}

// TestSuite runs the official suite through the door for foreign schemas. What
// is not as the suite asks is listed with a reason, and nothing else is: a
// listed test that passes fails this one. What needs another document is
// refused by design and needs no list.
func TestSuite(t *testing.T) {
	text, err := os.ReadFile(suite + "listed.json")
	if err != nil {
		t.Fatal(err)
	}
	var listed []listing
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&listed); err != nil {
		t.Fatal(err)
	}
	open := make(map[string]bool)
	for _, l := range listed {
		if l.Reason == "" || open[l.key()] {
			t.Errorf("%s has no reason or stands there twice", l.key())
		}
		open[l.key()] = true
	}
	for _, draft := range sortedKeys(suites) {
		var passed, remote, other int
		for _, g := range suiteGroups(t, draft) {
			at := listing{Draft: draft, File: g.File, Group: g.Group.Description}
			s, err := CompileForeign(g.Group.Schema, suites[draft])
			if fault := (*Error)(nil); errors.As(err, &fault) && elsewhere(fault) {
				remote += len(g.Group.Tests)
				continue
			}
			if err != nil {
				if !open[at.key()] {
					t.Errorf("%s: %v", at.key(), err)
				}
				delete(open, at.key())
				other += len(g.Group.Tests)
				continue
			}
			for _, test := range g.Group.Tests {
				at.Test = test.Description
				found := s.Validate(decode(t, string(test.Data)))
				switch {
				case (found == nil) == test.Valid:
					passed++
					continue
				case !open[at.key()]:
					t.Errorf("%s: valid %v, found %v", at.key(), test.Valid, found)
				}
				delete(open, at.key())
				other++
			}
		}
		t.Logf("%s: %d passed, %d listed, %d that need another document", draft, passed, other, remote)
	}
	for _, key := range sortedKeys(open) {
		t.Errorf("%s is as the suite asks, or is not there; take it off the list", key)
	}
}

// elsewhere reports whether a schema was refused because it needs a document
// beside it: one that it refers to, or the metaschema of a dialect of its own.
func elsewhere(fault *Error) bool {
	return fault.Unsupported && (strings.Contains(fault.Reason, "leaves the document") ||
		fault.Pointer == "/$schema" && strings.Contains(fault.Reason, "http://localhost:1234/"))
}

func suiteGroups(tb testing.TB, draft string) []suiteGroup {
	tb.Helper()
	file, err := os.Open(filepath.FromSlash(suite + draft + ".jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	var groups []suiteGroup
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var g suiteGroup
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			tb.Fatal(fmt.Errorf("%s: %w", draft, err))
		}
		groups = append(groups, g)
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return groups
}
