package governed_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/contract"
	"agentlab/lab/overlay"
	"agentlab/lab/tool"
)

// A field to redact that no answer holds is remarked on, wherever an answer may
// hold one.
func TestRemarks(t *testing.T) {
	missing := []string{`notes: get: redact: no answer held a field "password"`}
	for name, tt := range map[string]struct {
		answers []tool.Result
		want    []string
	}{
		"no answer":                {nil, nil},
		"only a failure":           {[]tool.Result{failed(`{"password":"x"}`)}, nil},
		"an answer without":        {[]tool.Result{answered(`{"pasword":"x","a":["password"]}`)}, missing},
		"a failure has it":         {[]tool.Result{answered(`{}`), failed(`{"password":"x"}`)}, missing},
		"at the top":               {[]tool.Result{answered(`{"password":"x"}`)}, nil},
		"null":                     {[]tool.Result{answered(`{"password":null}`)}, nil},
		"deep, in a later answer":  {[]tool.Result{answered(`{}`), answered(`{"a":[{"password":1}]}`), answered(`{}`)}, nil},
		"escaped":                  {[]tool.Result{answered(`{"p\u0061ssword":1}`)}, nil},
		"within what is redacted":  {[]tool.Result{answered(`{"user":{"password":1}}`)}, nil},
		"in a text":                {[]tool.Result{said(`{"password":1}`)}, nil},
		"in a text in a text":      {[]tool.Result{said(`{"a":"[{\"password\":1}]"}`)}, nil},
		"in prose":                 {[]tool.Result{said(`got 'other': 1, 'password': 2`)}, nil},
		"as a word of prose":       {[]tool.Result{said(`the password: "x"`)}, missing},
		"in a text that is broken": {[]tool.Result{said(`{"a":`)}, nil},
		"in a text that is deep":   {[]tool.Result{said(deep(7))}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			b := open(t, func(s *server, get, _ *overlay.Tool) {
				get.Contract.Output = &contract.Output{Secret: []string{"password"}}
				if name == "within what is redacted" {
					get.Contract.Output.Secret = []string{"user", "password"}
				}
				s.tools["get"] = func(context.Context, *server, map[string]any) tool.Result {
					calls++
					return tt.answers[calls-1]
				}
			})
			for range tt.answers {
				b.get("n")
			}
			if calls != len(tt.answers) {
				t.Fatalf("%d calls", calls)
			}
			if diff := cmp.Diff(tt.want, b.surface.Remarks()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// deep is JSON in a text, so often.
func deep(times int) string {
	text := `{"a":1}`
	for range times {
		quoted, _ := json.Marshal(map[string]string{"a": text})
		text = string(quoted)
	}
	return text
}

// Remarks are sorted by tool and field, and only of tools that have answered.
func TestRemarksAreSorted(t *testing.T) {
	b := open(t, func(_ *server, get, put *overlay.Tool) {
		get.Contract.Output = &contract.Output{Secret: []string{"zz", "aa", "aa"}}
		put.Contract.Output = &contract.Output{Secret: []string{"pin"}}
	})
	const last = `notes: put: redact: no answer held a field "pin"`
	ok(t, b.put("k1", "x"))
	if got := strings.Join(b.surface.Remarks(), "\n"); got != last {
		t.Errorf("remarks:\n%s", got)
	}
	ok(t, b.get("n"))
	ok(t, b.get("n"))
	want := []string{`notes: get: redact: no answer held a field "aa"`, `notes: get: redact: no answer held a field "zz"`, last}
	if diff := cmp.Diff(want, b.surface.Remarks()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
