package eval

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"agentlab/lab/dataset"
	"agentlab/lab/jsonvalue"
)

// Grade is one comparison of expected and actual. Both are compact JSON; an
// actual of null means that there was nothing to compare.
type Grade struct {
	Name     string
	Passed   bool
	Expected json.RawMessage
	Actual   json.RawMessage
}

// Grader compares one thing that a case expects with what a run did.
type Grader struct {
	Name   string
	Judges string // what it looks at

	// expected returns what the case expects, or nil where it does not ask.
	expected func(e *dataset.Expectation) json.RawMessage
	actual   func(run *Run, output func() *outline) json.RawMessage
	// compare stands in place of actual where to pass is not to be equal.
	compare func(e *dataset.Expectation, last *Step) (bool, json.RawMessage)
}

// countsEffects is the grader that compares numbers of effects, of a run and of a
// step.
const countsEffects = "side_effect_count"

// graders is the one list of graders, in the order of every report.
var graders = []Grader{
	{Name: "ok", Judges: "whether the last result is a success",
		expected: func(e *dataset.Expectation) json.RawMessage { return whereAsked(e.OK, boolean) },
		actual:   func(run *Run, _ func() *outline) json.RawMessage { return run.Last().ok() }},
	{Name: countsEffects, Judges: "how often the run changed the backend",
		expected: func(e *dataset.Expectation) json.RawMessage { return whereAsked(e.SideEffectCount, number) },
		actual:   func(run *Run, _ func() *outline) json.RawMessage { return number(run.SideEffects) }},
	{Name: "accepted", Judges: "whether the arguments of the last call were taken for valid",
		expected: func(e *dataset.Expectation) json.RawMessage { return whereAsked(e.Accepted, boolean) },
		actual:   func(run *Run, _ func() *outline) json.RawMessage { return run.Last().accepted() }},
	{Name: "error_code", Judges: "the code of the last result's error",
		expected: func(e *dataset.Expectation) json.RawMessage { return whereAsked(e.ErrorCode, text) },
		actual:   func(run *Run, _ func() *outline) json.RawMessage { return run.Last().errorCode() }},
	{Name: "retryable", Judges: "whether the last result's error says that a retry could help",
		expected: func(e *dataset.Expectation) json.RawMessage { return whereAsked(e.Retryable, boolean) },
		actual:   func(run *Run, _ func() *outline) json.RawMessage { return run.Last().retryable() }},
	{Name: "replayed", Judges: "whether any result is the answer of an earlier call",
		expected: func(e *dataset.Expectation) json.RawMessage { return whereAsked(e.Replayed, boolean) },
		actual: func(run *Run, _ func() *outline) json.RawMessage {
			return boolean(slices.ContainsFunc(run.Steps, func(s Step) bool { return s.Replayed }))
		}},
	{Name: "output_keys", Judges: "the keys of the last output, in any order",
		expected: func(e *dataset.Expectation) json.RawMessage { return sortedTexts(e.OutputKeys) },
		actual:   func(_ *Run, output func() *outline) json.RawMessage { return output().keyTexts() }},
	{Name: "output_count", Judges: "the length of `items` in the last output",
		expected: func(e *dataset.Expectation) json.RawMessage { return whereAsked(e.OutputCount, number) },
		actual:   func(_ *Run, output func() *outline) json.RawMessage { return output().itemCount() }},
	{Name: "has_next_cursor", Judges: "whether the last output has a next_cursor that is not null",
		expected: func(e *dataset.Expectation) json.RawMessage { return whereAsked(e.HasNextCursor, boolean) },
		actual:   func(_ *Run, output func() *outline) json.RawMessage { return output().nextCursor() }},
	{Name: "is_error", Judges: "whether the server says that the last call failed",
		expected: func(e *dataset.Expectation) json.RawMessage { return whereAsked(e.IsError, boolean) },
		actual:   func(run *Run, _ func() *outline) json.RawMessage { return run.Last().isError() }},
	{Name: "content_contains", Judges: "whether a text stands in the text content of the last answer",
		expected: func(e *dataset.Expectation) json.RawMessage { return whereAsked(e.ContentContains, text) },
		compare: func(e *dataset.Expectation, last *Step) (bool, json.RawMessage) {
			return last.contains(*e.ContentContains)
		}},
	{Name: "max_output_bytes", Judges: "whether the last answer has at most so many bytes",
		expected: func(e *dataset.Expectation) json.RawMessage { return whereAsked(e.MaxOutputBytes, number) },
		compare: func(e *dataset.Expectation, last *Step) (bool, json.RawMessage) {
			return last.within(*e.MaxOutputBytes)
		}},
	{Name: "schema_valid", Judges: "whether the last structured content satisfies the server's own output schema",
		expected: func(e *dataset.Expectation) json.RawMessage { return whereAsked(e.SchemaValid, boolean) },
		actual:   func(run *Run, _ func() *outline) json.RawMessage { return run.Last().schemaValid() }},
}

// Graders returns the graders in the order of every report.
func Graders() []Grader { return slices.Clone(graders) }

// asked is a grader that a case asks for, and what the case expects.
type asked struct {
	*Grader
	json json.RawMessage
}

// questions are all graders that a case asks for.
type questions struct {
	expected *dataset.Expectation
	run      []asked
	steps    []askedOfStep
	state    *part // nil where the case does not ask
}

// fewAsked is as many graders as most cases ask for.
const fewAsked = 6

// ask lists the graders that an expectation names.
func ask(e *dataset.Expectation) questions {
	list := make([]asked, 0, fewAsked)
	for i := range graders {
		if expected := graders[i].expected(e); expected != nil {
			list = append(list, asked{&graders[i], expected})
		}
	}
	return questions{e, list, askOfSteps(e.Steps), newPart(e.State)}
}

// Grades compares a run with what its case expects.
func Grades(e dataset.Expectation, run *Run) []Grade { return grade(ask(&e), run) }

func grade(q questions, run *Run) []Grade {
	var last *outline // read where a grader asks for it
	output := func() *outline {
		if last == nil {
			last = outlineOf(run.Last().Output)
		}
		return last
	}
	grades := make([]Grade, 0, len(q.run)+len(q.steps)+1)
	unseen := func(name string) bool { return run.Blind && name == countsEffects }
	for _, g := range q.run {
		if unseen(g.Name) {
			continue
		}
		if g.compare != nil {
			passed, actual := g.compare(q.expected, run.Last())
			grades = append(grades, Grade{g.Name, passed, g.json, actual})
			continue
		}
		actual := g.actual(run, output)
		grades = append(grades, Grade{g.Name, bytes.Equal(g.json, actual), g.json, actual})
	}
	for i := range q.steps {
		if !unseen(q.steps[i].stepGrader.name) {
			grades = append(grades, q.steps[i].grade(run))
		}
	}
	if q.state != nil {
		grades = append(grades, q.state.grade("state", run.State))
	}
	return grades
}

var (
	null     = json.RawMessage("null")
	yes      = json.RawMessage("true")
	no       = json.RawMessage("false")
	smallInt = func() (texts [32]json.RawMessage) {
		for i := range texts {
			texts[i] = json.RawMessage(strconv.Itoa(i))
		}
		return texts
	}()
)

func boolean(b bool) json.RawMessage {
	if b {
		return yes
	}
	return no
}

func number(n int) json.RawMessage {
	if n >= 0 && n < len(smallInt) {
		return smallInt[n]
	}
	return strconv.AppendInt(nil, int64(n), 10)
}

func text(s string) json.RawMessage { return jsonvalue.AppendString(make([]byte, 0, len(s)+2), s) }

func texts(list []string) json.RawMessage {
	out := []byte{'['}
	for i, s := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = jsonvalue.AppendString(out, s)
	}
	return append(out, ']')
}

// sortedTexts is nil for a nil list.
func sortedTexts(list []string) json.RawMessage {
	if list == nil {
		return nil
	}
	return texts(slices.Sorted(slices.Values(list)))
}

func whereAsked[T any](expected *T, encode func(T) json.RawMessage) json.RawMessage {
	if expected == nil {
		return nil
	}
	return encode(*expected)
}

// outline is what the graders need to know of an output.
type outline struct {
	isObject      bool
	keys          []string // sorted
	hasItems      bool
	items         int
	hasNextCursor bool
}

// keyTexts, itemCount and nextCursor are null where the output has none of it.
func (o *outline) keyTexts() json.RawMessage {
	if !o.isObject {
		return null
	}
	return texts(o.keys)
}

func (o *outline) itemCount() json.RawMessage {
	if !o.hasItems {
		return null
	}
	return number(o.items)
}

func (o *outline) nextCursor() json.RawMessage {
	if !o.isObject {
		return null
	}
	return boolean(o.hasNextCursor)
}

var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// outlineOf reads the top level of an output. An output that is no object, or
// none at all, has an empty outline.
func outlineOf(output json.RawMessage) *outline {
	o := new(outline)
	tokens := decoders.Get().(*jsontext.Decoder)
	defer decoders.Put(tokens)
	tokens.Reset(bytes.NewBuffer(output))
	if tokens.PeekKind() != '{' {
		return o
	}
	o.isObject = true
	tokens.ReadToken()
	for tokens.PeekKind() == '"' {
		name, err := tokens.ReadToken()
		if err != nil {
			return o
		}
		key := name.String()
		o.keys = append(o.keys, key)
		kind := tokens.PeekKind()
		switch {
		case key == "items" && kind == '[':
			o.hasItems = true
			tokens.ReadToken()
			for kind := tokens.PeekKind(); kind != ']' && kind != 0; kind = tokens.PeekKind() {
				o.items++
				if tokens.SkipValue() != nil {
					return o
				}
			}
			tokens.ReadToken()
			continue
		case key == "next_cursor":
			o.hasNextCursor = kind != 'n'
		}
		if tokens.SkipValue() != nil {
			return o
		}
	}
	slices.Sort(o.keys)
	return o
}
