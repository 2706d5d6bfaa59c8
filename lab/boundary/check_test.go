package boundary_test

import (
	"bytes"
	"strings"

	"agentlab/lab/boundary"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
	"agentlab/lab/tool"
)

// failer is a *testing.T or a *rapid.T.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// holds checks what holds of every tool: what is plain is valid, what is
// refused is not, every call has one reading, and all is the same again. It
// compiles the schema for itself. It reports whether there was a plain call.
func holds(t failer, d tool.Definition) bool {
	t.Helper()
	plain, err := boundary.Plain(d)
	calls, refusedErr := boundary.Refused(d)
	again, _ := boundary.Plain(d)
	callsAgain, _ := boundary.Refused(d)
	if err != nil {
		if plain != nil || calls != nil || refusedErr == nil || refusedErr.Error() != err.Error() {
			t.Errorf("Plain fails with %v, and gives %s, %v, %v", err, plain, calls, refusedErr)
		}
		return false
	}
	if refusedErr != nil {
		t.Fatalf("Plain succeeds and Refused fails: %v", refusedErr)
	}
	if !bytes.Equal(plain, again) || len(calls) != len(callsAgain) {
		t.Errorf("%s and then %s; %d calls and then %d", plain, again, len(calls), len(callsAgain))
	}
	compiled, err := schema.CompileForeign(d.InputSchema, schema.Draft202012)
	if err != nil {
		t.Fatalf("a plain call of a schema that does not compile: %v", err)
	}
	if found := compiled.Validate(decoded(t, inSandbox(plain))); found != nil {
		t.Errorf("%s is plain for %s and invalid: %v", plain, d.InputSchema, found)
	}
	told, total := make(map[string]bool), 0
	for _, call := range calls {
		if told[string(call.Arguments)] {
			t.Errorf("%s twice", call.Arguments)
		}
		told[string(call.Arguments)] = true
		total += len(call.Arguments)
	}
	if len(calls) > 100 || total > 4<<20 {
		t.Errorf("%d refused calls of %d bytes", len(calls), total)
	}
	for i, call := range calls {
		for _, text := range [][]byte{call.Arguments, inSandbox(call.Arguments)} {
			if found := compiled.Validate(decoded(t, text)); found == nil || found[0].Keyword == "schema" {
				t.Errorf("%s is refused (%s %q) for %s: %v", text, call.Fault, call.Property, d.InputSchema, found)
			}
		}
		if !bytes.Equal(call.Arguments, callsAgain[i].Arguments) {
			t.Errorf("%s and then %s", call.Arguments, callsAgain[i].Arguments)
		}
		if call.Fault == "" || call.Property == "" && call.Fault == "unknown" || call.Wrong == "" {
			t.Errorf("%+v does not say what is wrong", call)
		}
	}
	return true
}

func inSandbox(arguments []byte) []byte {
	return []byte(strings.ReplaceAll(string(arguments), "${SANDBOX}", "/sandboxes"))
}

func decoded(t failer, text []byte) any {
	t.Helper()
	value, err := jsonvalue.Decode(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if _, ok := value.(map[string]any); !ok {
		t.Fatalf("%s is no object", text)
	}
	return value
}
