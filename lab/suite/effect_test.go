package suite_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/suite"
)

func fields(command string) ([]string, error) {
	if strings.Contains(command, "'") {
		return nil, errors.New("a quote is not closed")
	}
	return strings.Fields(command), nil
}

func TestParseEffect(t *testing.T) {
	tests := []struct {
		flag string
		want suite.Effect
		err  string
	}{
		{"dir:a/b", suite.Directory{Path: "a/b"}, ""},
		{"directory:${SANDBOX}/x", suite.Directory{Path: "${SANDBOX}/x"}, ""},
		{"dir:C:x${TOKEN}", suite.Directory{Path: "C:x${TOKEN}"}, ""},
		{"sqlite:/var/db", suite.SQLite{"/var/db"}, ""},
		{"http:http://127.0.0.1:1/state", suite.HTTP{URL: "http://127.0.0.1:1/state"}, ""},
		{"command:cat ${SANDBOX}/x", suite.Command{[]string{"cat", "${SANDBOX}/x"}}, ""},
		{"", nil, "must be dir:PATH, sqlite:PATH, http:URL or command:COMMAND"},
		{"dir", nil, "must be dir:PATH, sqlite:PATH, http:URL or command:COMMAND"},
		{"call:x", nil, "must be dir:PATH, sqlite:PATH, http:URL or command:COMMAND"},
		{"DIR:x", nil, "must be dir:PATH, sqlite:PATH, http:URL or command:COMMAND"},
		{"dir:", nil, `nothing stands after "dir:"`},
		{"dir:a\x00", nil, "a NUL character"},
		{"dir:a/${SANDBOX}", nil, "dir: ${SANDBOX} may only be the first folder of a path"},
		{"sqlite:${SANDBOX}x", nil, "sqlite: ${SANDBOX} may only be the first folder of a path"},
		{"http://a", nil, "http: must be a URL that begins with http:// or https:// and a host"},
		{"http:http://a:s3cr3t@b", nil, "http: may hold no user and no password; put them in a header"},
		{"command: ", nil, "command: must name a program"},
		{"command:'a", nil, "command: a quote is not closed"},
	}
	for _, tt := range tests {
		got, err := suite.ParseEffect(tt.flag, fields)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q: %s", tt.flag, diff)
		}
		if (err != nil || tt.err != "") && (err == nil || err.Error() != tt.err) {
			t.Errorf("%q: the error is %v, want %s", tt.flag, err, tt.err)
		}
	}
}

func TestIn(t *testing.T) {
	surface := suite.Surface{
		Name: "${SANDBOX}",
		Server: suite.Server{
			Command: []string{"a", "--dir=${SANDBOX}/x:${SANDBOX}"},
			Env:     map[string]string{"A": "${SANDBOX}", "B": "b"},
		},
		Effects: []suite.Effect{
			suite.Directory{"${SANDBOX}/x", []string{"*.log"}},
			suite.SQLite{"${SANDBOX}/db"},
			suite.Call{"a", json.RawMessage(`{"path":"${SANDBOX}/x","n":1}`), &suite.Server{Command: []string{"b", "${SANDBOX}"}}},
			suite.Call{Tool: "b", Arguments: json.RawMessage(`{}`)},
			suite.HTTP{URL: "http://a"},
			suite.Command{[]string{"cat", "${SANDBOX}/x"}},
		},
	}
	const path = `/tmp/a "b"\<c>`
	want := suite.Surface{
		Name: "${SANDBOX}",
		Server: suite.Server{
			Command: []string{"a", "--dir=" + path + "/x:" + path},
			Env:     map[string]string{"A": path, "B": "b"},
		},
		Effects: []suite.Effect{
			suite.Directory{path + "/x", []string{"*.log"}},
			suite.SQLite{path + "/db"},
			suite.Call{"a", json.RawMessage(`{"path":"/tmp/a \"b\"\\<c>/x","n":1}`), &suite.Server{Command: []string{"b", path}}},
			suite.Call{Tool: "b", Arguments: json.RawMessage(`{}`)},
			suite.HTTP{URL: "http://a"},
			suite.Command{[]string{"cat", path + "/x"}},
		},
	}
	before, err := json.Marshal(surface)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, surface.In(path)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	after, err := json.Marshal(surface)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(before), string(after)); diff != "" {
		t.Errorf("In changed the surface that it was called on: %s", diff)
	}
	var kinds []string
	for _, e := range surface.Effects {
		kinds = append(kinds, e.Kind())
	}
	if diff := cmp.Diff([]string{"directory", "sqlite", "call", "call", "http", "command"}, kinds); diff != "" {
		t.Error(diff)
	}
}
