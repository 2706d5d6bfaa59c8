package boundary

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// maxID is how long a case_id may be, in characters.
const maxID = 200

// maxName is how much of a tool's or a property's name goes into it, in bytes.
const maxName = 80

// line is one case as lab/dataset reads it. Of a server alone it has proposals
// for every surface and no caller, which such a server has no use for.
type line struct {
	ID        string          `json:"case_id"`
	Intent    string          `json:"intent"`
	Todo      string          `json:"todo,omitempty"` // what a person must say first
	Caller    *tool.Caller    `json:"caller,omitempty"`
	Approved  bool            `json:"approved,omitempty"`
	Proposals []tool.Proposal `json:"proposals,omitempty"`
	Calls     *calls          `json:"calls,omitempty"`
	Expected  expected        `json:"expected"`
}

type expected struct {
	OK          bool      `json:"ok"`
	SideEffects int       `json:"side_effect_count"`
	ErrorCode   tool.Code `json:"error_code,omitempty"`
}

// Cases writes the first cases file for the tools of a server, in JSONL: for
// each tool, by name, one plain call marked todo, and the calls that must be
// refused. A tool without a plain call gets a todo case with empty arguments
// and the reason. With a contract the calls are made on the server and behind the
// contract; nil stands for the server alone. No tool at all is an error.
func Cases(definitions []tool.Definition, behind *Contract) ([]byte, error) {
	if len(definitions) == 0 {
		return nil, errors.New("there is no tool to write cases for")
	}
	sorted := slices.Clone(definitions)
	slices.SortStableFunc(sorted, func(a, b tool.Definition) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), bytes.Compare(a.InputSchema, b.InputSchema))
	})
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	ids := make(map[string]bool)
	for _, d := range sorted {
		for _, l := range lines(d, ids) {
			if err := behind.place(&l); err != nil {
				return nil, err
			}
			if err := encoder.Encode(l); err != nil {
				return nil, err
			}
		}
	}
	return out.Bytes(), nil
}

const todo = "Say what is right: ok, how many side effects, and what the output must hold."

// todoAllowed is what has to be said of a call that is wrong, though no schema
// forbids it.
const todoAllowed = "The schema lets this pass, and the tool may take it for a call without the flag. Say what is right: most often that it is refused and changes nothing, as it says here."

// lines are the cases of one tool.
func lines(d tool.Definition, ids map[string]bool) []line {
	name := plainName(d.Name)
	first := line{
		ID:        unique(ids, name+"-plain"),
		Intent:    "Call " + shown(d.Name) + " as its schema describes it" + claims(d.Annotations) + ".",
		Todo:      todo,
		Proposals: []tool.Proposal{{Name: d.Name, Arguments: json.RawMessage(`{}`)}},
		Expected:  expected{OK: true, SideEffects: 1},
	}
	if d.Hints().ReadsOnly() {
		first.Expected.SideEffects = 0
	}
	c, err := study(d, true)
	var p *plain
	if err == nil {
		p, err = c.plain()
	}
	if err != nil {
		first.Todo = "Fill in the arguments; no plain call was found (" + clip(quoteAll(err.Error()), 500) + "). " + todo
		return []line{first}
	}
	first.Proposals[0].Arguments = jsonvalue.AppendCanonical(nil, p.arguments)
	list := []line{first}
	for _, call := range c.allowed(p) {
		list = append(list, line{
			ID:        unique(ids, name+"-"+plainName(call.Fault)+"-"+plainName(call.Property)),
			Intent:    "Call " + shown(d.Name) + " " + call.Wrong + ".",
			Todo:      todoAllowed,
			Proposals: []tool.Proposal{{Name: d.Name, Arguments: call.Arguments}},
		})
	}
	for _, call := range c.refused(p) {
		id := name + "-" + plainName(call.Fault)
		if call.Fault != "unknown" {
			id += "-" + plainName(call.Property)
		}
		list = append(list, line{
			ID:        unique(ids, id),
			Intent:    "Refuse a call of " + shown(d.Name) + " " + call.Wrong + ".",
			Proposals: []tool.Proposal{{Name: d.Name, Arguments: call.Arguments}},
		})
	}
	return list
}

// plainName keeps what a case_id may hold of a name.
func plainName(name string) string {
	var out strings.Builder
	for _, r := range name[:min(len(name), maxName)] {
		if r < 0x80 && strings.IndexByte(plainLetters, byte(r)) >= 0 {
			out.WriteRune(r)
		} else {
			out.WriteByte('-')
		}
	}
	if out.Len() == 0 {
		return "unnamed"
	}
	return out.String()
}

// unique makes an id that no other case has.
func unique(ids map[string]bool, id string) string {
	const room = 8 // for a number at the end
	id = id[:min(len(id), maxID-room)]
	for n, one := 2, id; ; n++ {
		if !ids[one] {
			ids[one] = true
			return one
		}
		one = id + "-" + strconv.Itoa(n)
	}
}

// claims tells what a server says of its tool. It is its own word: a hint that
// is absent, or no boolean, is not told.
func claims(annotations json.RawMessage) string {
	if len(annotations) == 0 {
		return ""
	}
	decoded, _ := jsonvalue.Decode(annotations)
	hints, _ := decoded.(object)
	var said []string
	for _, row := range []struct{ hint, yes, no string }{
		{"readOnlyHint", "it is read-only", "it is not read-only"},
		{"destructiveHint", "it is destructive", "it is not destructive"},
	} {
		switch hints[row.hint] {
		case true:
			said = append(said, row.yes)
		case false:
			said = append(said, row.no)
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "; the server says that " + strings.Join(said, " and that ")
}

// quoteAll keeps a message on one line, without anything that acts.
func quoteAll(message string) string {
	quoted := strconv.Quote(message)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
