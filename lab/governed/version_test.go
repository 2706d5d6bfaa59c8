package governed_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"agentlab/lab/contract"
	"agentlab/lab/overlay"
	"agentlab/lab/tool"
)

// preconditioned asks for the version of the note that a write is to.
func preconditioned(field string, answer func(s *server, name string) tool.Result) func(s *server, get, put *overlay.Tool) {
	return func(s *server, get, put *overlay.Tool) {
		s.tools["info"] = func(_ context.Context, s *server, a map[string]any) tool.Result {
			if a["deep"] != true || len(a) != 2 {
				return failed("another call")
			}
			return answer(s, a["of"].(string))
		}
		put.Contract.Precondition = true
		put.Precondition = &overlay.Precondition{Tool: "info", Fields: []string{field}, Arguments: []overlay.Argument{
			{Name: "of", From: "name"}, {Name: "deep", Value: json.RawMessage(`true`)},
		}}
	}
}

func TestVersions(t *testing.T) {
	for name, test := range map[string]struct {
		field  string
		answer func(note string) tool.Result
		is     string // with the note "1"; empty: there is none
	}{
		"a member":           {"modified", func(n string) tool.Result { return answered(`{"size":1,"modified":"` + n + `"}`) }, "1"},
		"a number":           {"v", func(n string) tool.Result { return answered(`{"v":` + n + `.0}`) }, "1"},
		"a deep member":      {"a.b", func(n string) tool.Result { return answered(`{"a":{"b":{"c":` + n + `}}}`) }, `{"c":1}`},
		"a line":             {"modified", func(n string) tool.Result { return said("size: 5\nmodified: " + n + "\nx: 1") }, "1"},
		"a line in a member": {"modified", func(n string) tool.Result { return answered(`{"content":"size: 5\n modified:  ` + n + ` "}`) }, "1"},
		"no line":            {"modified", func(n string) tool.Result { return said("unmodified: " + n) }, ""},
		"no member":          {"a.c", func(n string) tool.Result { return answered(`{"a":{"b":1}}`) }, ""},
		"a failure":          {"modified", func(string) tool.Result { return failed("modified: 1") }, ""},
		"no answer":          {"modified", func(string) tool.Result { return unanswered(tool.ToolTimeout) }, ""},
		"it is not there":    {"modified", func(string) tool.Result { return failed("ENOENT: no such file") }, "(not there)"},
		"a long one":         {"modified", func(n string) tool.Result { return answered(`{"modified":"` + strings.Repeat(n, 1000) + `"}`) }, "sha256:"},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, preconditioned(test.field, func(s *server, of string) tool.Result { return test.answer("1") }))
			result := b.put("k", "x")
			if test.is == "" {
				e := refused(t, result, tool.ApprovalStale, tool.NotApplied)
				if string(e.Details) != `{}` || len(b.told()) != 1 {
					t.Errorf("details %s, told %q", e.Details, b.told())
				}
				return
			}
			ok(t, result)
			pending, e := b.session.Pending(t.Context(), tool.Call{Proposal: tool.Proposal{Name: "put", Arguments: json.RawMessage(`{"name":"n","text":"x","action_id":"k"}`)}})
			if e != nil || pending.ResourceVersion != test.is && (test.is != "sha256:" || !strings.HasPrefix(pending.ResourceVersion, test.is)) {
				t.Errorf("the version is %q, want %q", pending.ResourceVersion, test.is)
			}
		})
	}
}

func TestWhatSomebodyElseChanged(t *testing.T) {
	b := open(t, preconditioned("text", func(s *server, name string) tool.Result {
		text, there := s.notes[name]
		if !there {
			return failed("ENOENT")
		}
		return said("text: " + text)
	}))
	ok(t, b.put("k1", "x")) // it was not there
	ok(t, b.put("k2", "y"))
	b.change("n", "z")
	e := refused(t, b.put("k3", "w"), tool.ApprovalStale, tool.NotApplied)
	if want := `{"of":"info {\"deep\":true,\"of\":\"n\"}","seen":"y","is":"z"}`; string(e.Details) != want {
		t.Errorf("details %s, want %s", e.Details, want)
	}
	if !ok(t, b.put("k2", "y")).Replayed {
		t.Error("a repeat was not replayed")
	}
	ok(t, b.put("k3", "w"))
	// The tool that tells is not the model's.
	refused(t, b.call("info", `{"of":"n","deep":true}`), tool.ToolNotFound, tool.NotApplied)
	if b.notes["n"] != "w" {
		t.Errorf("the note is %q", b.notes["n"])
	}
}

// With a grant of one call the version is part of the grant.
func TestAGrantNamesTheVersion(t *testing.T) {
	b := open(t, func(s *server, get, put *overlay.Tool) {
		preconditioned("v", func(s *server, name string) tool.Result { return said("v: " + s.notes[name]) })(s, get, put)
		put.Contract.Approval = contract.ApprovalBound
	})
	call := tool.Call{
		Proposal: tool.Proposal{Name: "put", Arguments: json.RawMessage(`{"name":"n","text":"x","action_id":"k"}`)},
		Caller:   tool.Caller{ID: "a", Permissions: []string{"write"}},
	}
	grant := func() {
		pending, e := b.session.Pending(t.Context(), call)
		if e != nil {
			t.Fatal(e)
		}
		call.Grants = []tool.Grant{{ID: pending.ResourceVersion + "g", Digest: pending.Digest, ResourceVersion: pending.ResourceVersion, ExpiresAt: b.session.Now().AddDate(1, 0, 0)}}
	}
	grant()
	b.change("n", "z")
	refused(t, b.session.Call(t.Context(), call), tool.ApprovalStale, tool.NotApplied)
	grant()
	ok(t, b.session.Call(t.Context(), call))
}

// Where a version, or what it is of, holds what is redacted, nobody is shown it, and
// the call does not pass on what nobody may compare.
func TestAVersionTellsNothingThatIsRedacted(t *testing.T) {
	inner := `{"password":"` + planted + `"}`
	for name, change := range map[string]func(s *server, put *overlay.Tool){
		"in a line":   func(s *server, _ *overlay.Tool) { s.notes["v"] = "v: " + inner },
		"in a text":   func(s *server, _ *overlay.Tool) { s.notes["v"] = "v: x " + inner },
		"in a member": func(s *server, _ *overlay.Tool) { s.notes["v"] = `{"v":` + inner + `}` },
		"in a list":   func(s *server, _ *overlay.Tool) { s.notes["v"] = `{"v":[` + inner + `]}` },
		"in what it is of": func(s *server, put *overlay.Tool) {
			s.notes["v"] = "v: 1"
			put.Precondition.Arguments[1].Value = json.RawMessage(`{"is":` + inner + `}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, func(s *server, get, put *overlay.Tool) {
				preconditioned("v", nil)(s, get, put)
				put.Contract.Output = &contract.Output{Secret: []string{"password"}}
				change(s, put)
				s.tools["info"] = func(_ context.Context, s *server, _ map[string]any) tool.Result {
					result := said(s.notes["v"])
					if strings.HasPrefix(s.notes["v"], "{") {
						result = answered(s.notes["v"])
					}
					return result
				}
			})
			result := b.put("k", "x")
			refused(t, result, tool.ApprovalStale, tool.NotApplied)
			pending, _ := b.session.Pending(t.Context(), tool.Call{Proposal: tool.Proposal{Name: "put", Arguments: json.RawMessage(`{"name":"n","text":"x","action_id":"k"}`)}})
			if all := everything(t, result) + pending.ResourceVersion + strings.Join(b.told(), "\n"); strings.Contains(all, planted) {
				t.Errorf("it tells %s", all)
			}
			if len(b.told()) == 0 {
				t.Error("nobody is told why")
			}
		})
	}
}
