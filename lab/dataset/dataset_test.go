package dataset_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"agentlab/lab/dataset"
)

// good is a case in which every required field, and no other, is present.
const good = `{"case_id":"c1","intent":"Read a ticket.","actor_permissions":["ticket:read"],"approved":false,` +
	`"baseline_calls":[{"name":"operation","arguments":{"a":1}}],` +
	`"candidate_calls":[{"name":"get_ticket","arguments":{"b":[2]}}],` +
	`"expected":{"ok":true,"side_effect_count":0}}`

// full is a case in which every field is present.
const full = `{"case_id":"full","intent":"Write twice.","actor_permissions":["ticket:read","ticket:write"],"approved":true,` +
	`"baseline_calls":[{"name":"operation","arguments":{}}],` +
	`"candidate_calls":[{"name":"record","arguments":{"n":1e0}},{"name":"","arguments":{"é":"\u0000"}}],` +
	`"expected":{"ok":false,"side_effect_count":2,"error_code":"tool_timeout","retryable":true,"replayed":false,` +
	`"output_keys":["b","a"],"output_count":3,"has_next_cursor":false}}`

// edit replaces the one occurrence of a part of a line.
func edit(line, old, new string) string {
	if strings.Count(line, old) != 1 {
		panic("not one occurrence: " + old)
	}
	return strings.Replace(line, old, new, 1)
}

// named gives the good case another id.
func named(id string) string { return edit(good, `"c1"`, `"`+id+`"`) }

func source(name, text string) dataset.Source {
	return opened(name, func() io.Reader { return strings.NewReader(text) })
}

func opened(name string, open func() io.Reader) dataset.Source {
	return dataset.Source{
		Name: name,
		Path: "in/" + name,
		Open: func() (io.ReadCloser, error) { return io.NopCloser(open()), nil },
	}
}

// loaded is what a dataset came to.
type loaded struct {
	Lines  []dataset.Line
	SHA256 string
	Name   string
}

// load reads a dataset to its end, in the way of an eval on one goroutine.
func load(sources ...dataset.Source) (loaded, error) { return loadFrom(dataset.Open(sources...)) }

func loadFrom(r *dataset.Reader) (loaded, error) {
	defer r.Close()
	ledger := dataset.NewLedger(r)
	var l loaded
	for {
		batch, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return loaded{}, err
		}
		decoded := batch.Decode()
		l.Lines = append(l.Lines, decoded.Lines...)
		ledger.Record(decoded)
	}
	l.SHA256, l.Name = r.SHA256(), r.Name()
	return l, ledger.Close()
}

// mustLoad loads a dataset that has no fault.
func mustLoad(t testing.TB, sources ...dataset.Source) loaded {
	t.Helper()
	l, err := load(sources...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// faultsOf loads a dataset and returns the lines of its fault text.
func faultsOf(t testing.TB, sources ...dataset.Source) []string {
	t.Helper()
	_, err := load(sources...)
	if err == nil {
		return nil
	}
	var invalid *dataset.Invalid
	if !errors.As(err, &invalid) {
		t.Fatalf("%T: %v", err, err)
	}
	var all []string
	for _, f := range invalid.Faults {
		all = append(all, f.String())
	}
	if more := invalid.Total - len(all); more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return all
}

func ptr[T any](v T) *T { return &v }
