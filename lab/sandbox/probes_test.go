//go:build unix

package sandbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"

	"agentlab/lab/probe"
	"agentlab/lab/suite"
	"agentlab/lab/tool"
)

func execute(t *testing.T, file string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	must(t, err)
	defer db.Close()
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
}

var none = json.RawMessage(`{}`)

// snapshot asks a server for its notes.
func snapshot(server *suite.Server) suite.Effect {
	return suite.Call{Tool: "snapshot", Arguments: none, Server: server}
}

// printNotes writes what notes there are, by their paths.
var printNotes = suite.Command{Args: []string{"sh", "-c",
	`cd "$HOME"; printf '{"'; pwd | tr -d '\n'; printf '":['; sep=; for f in *.txt; do test -e "$f" && printf '%s{"name":"%s/%s","size":%d}' "$sep" "$PWD" "$f" $(wc -c <"$f"); sep=,; done; printf ']}'`}}

func TestEachKindOfEffect(t *testing.T) {
	b := newBed(t)
	var answer atomic.Pointer[string]
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Token") != "secret" {
			http.Error(w, "who?", http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, *answer.Load())
	}))
	defer web.Close()
	other := b.server(inFolder)
	tests := []struct {
		name    string
		effects []suite.Effect
		want    []string // of two notes written, and of one changed
		after   []string
	}{
		{"none", nil, nil, nil},
		{"directory", wholeFolder,
			[]string{"added a.txt 0 1", "added b.txt 0 2"}, []string{"changed b.txt 2 3"}},
		{"a folder of it, and not all", []suite.Effect{suite.Directory{Path: suite.SandboxVariable, Ignore: []string{"a.*"}}},
			[]string{"added b.txt 0 2"}, []string{"changed b.txt 2 3"}},
		{"call", []suite.Effect{snapshot(nil)},
			[]string{"added /notes/a 0 3", "added /notes/b 0 4"}, []string{"changed /notes/b 4 5"}},
		{"call of another server", []suite.Effect{snapshot(&other)},
			[]string{"added /notes/a 0 3", "added /notes/b 0 4"}, []string{"changed /notes/b 4 5"}},
		{"call with arguments", []suite.Effect{suite.Call{Tool: "echo", Arguments: json.RawMessage(`{"p":"${SANDBOX}"}`)}}, nil, nil},
		{"sqlite", []suite.Effect{suite.SQLite{Path: suite.SandboxVariable + "/db"}},
			[]string{"added t[1] 0 1", "added t[2] 0 1"}, []string{"changed t[2] 1 1"}},
		{"http", []suite.Effect{suite.HTTP{URL: web.URL, Headers: map[string]string{"Token": "secret"}}},
			[]string{"added /a 0 1", "added /b 0 1"}, []string{"changed /b 1 1"}},
		{"command", []suite.Effect{printNotes},
			[]string{`added /${SANDBOX}/name="${SANDBOX}~1a.txt" 0 36`, `added /${SANDBOX}/name="${SANDBOX}~1b.txt" 0 36`},
			[]string{`changed /${SANDBOX}/name="${SANDBOX}~1b.txt" 36 36`}},
		{"two kinds", []suite.Effect{wholeFolder[0], snapshot(nil), snapshot(&other)},
			[]string{"added directory:a.txt 0 1", "added directory:b.txt 0 2", "added call:/notes/a 0 3", "added call:/notes/b 0 4", "added call#2:/notes/a 0 3", "added call#2:/notes/b 0 4"},
			[]string{"changed directory:b.txt 2 3", "changed call:/notes/b 4 5", "changed call#2:/notes/b 4 5"}},
	}
	for _, test := range tests {
		for _, isolation := range []suite.Isolation{suite.PerCase, suite.PerSuite} {
			t.Run(test.name+"/"+string(isolation), func(t *testing.T) {
				state := func(text string) { answer.Store(&text) }
				state("{}")
				spec := b.spec(test.effects, inFolder)
				spec.Sandbox.Seed = t.TempDir()
				execute(t, filepath.Join(spec.Sandbox.Seed, "db"), "CREATE TABLE t (id INTEGER PRIMARY KEY, x)")
				s := b.open(spec, b.settings(isolation))
				for range 2 {
					state("{}")
					opened := openSession(t, s)
					db := filepath.Join(opened.bench.folder.path, "db")
					opened.Call(t.Context(), write("a", "1"))
					opened.Call(t.Context(), write("b", "22"))
					if test.name == "sqlite" {
						execute(t, db, "INSERT INTO t (x) VALUES ('a'), ('b')")
					}
					state(`{"a":1,"b":2}`)
					got := strip(observe(t, opened), test.name)
					if diff := cmp.Diff(strip(test.want, test.name), got); diff != "" {
						t.Error(diff)
					}
					opened.Call(t.Context(), write("b", "333"))
					if test.name == "sqlite" {
						execute(t, db, "UPDATE t SET x = 'c' WHERE id = 2")
					}
					state(`{"a":1,"b":3}`)
					if diff := cmp.Diff(strip(test.after, test.name), strip(observe(t, opened), test.name)); diff != "" {
						t.Error(diff)
					}
					if more := observe(t, opened); more != nil {
						t.Errorf("nothing was done, and yet %v", more)
					}
					if want := len(test.want) + len(test.after); opened.Effects() != want {
						t.Errorf("%d effects, want %d", opened.Effects(), want)
					}
					closeSession(t, opened)
				}
				// But for echo, which has no hint.
				told := slices.DeleteFunc(b.told(), func(text string) bool { return strings.HasSuffix(text, " only reads: echo") })
				if len(told) > 0 {
					t.Error(told)
				}
				must(t, s.Close())
			})
		}
	}
}

// strip leaves out what SQLite says of sizes, which is its own affair.
func strip(lines []string, name string) (stripped []string) {
	for _, line := range lines {
		if fields := strings.Fields(line); name == "sqlite" {
			line = fields[0] + " " + fields[1]
		}
		stripped = append(stripped, line)
	}
	return stripped
}

func TestEffectsThatCannotBeCounted(t *testing.T) {
	b := newBed(t)
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	dead, mute, absent := b.server("-fault", "exit-at-call"), b.server("-fault", "hang"), suite.Server{Command: []string{"no-such-program-here"}}
	const cannot = "the effects could not be counted: "
	tests := []struct {
		name   string
		effect suite.Effect
		reason string
		detail string
	}{
		{"no folder", suite.Directory{Path: "${SANDBOX}/none"}, cannot + "directory: the folder does not exist", "/none"},
		{"no pattern", suite.Directory{Path: "${SANDBOX}", Ignore: []string{"["}}, cannot + `directory: "[" is not a pattern of files to ignore`, ""},
		{"no database", suite.SQLite{Path: "${SANDBOX}"}, cannot + "sqlite: it is a folder", "/sandbox"},
		{"refused", suite.HTTP{URL: web.URL}, cannot + "http: the answer has the status 404", "http://"},
		{"no address", suite.HTTP{URL: "ftp://x"}, cannot + "http: it needs an address that begins with http:// or https:// and a host", ""},
		{"command fails", suite.Command{Args: []string{"sh", "-c", "echo why >&2; exit 4"}}, cannot + "command: the command failed: exit status 4", "why"},
		{"command hangs", suite.Command{Args: []string{"sleep", "60"}}, cannot + "command: the look took too long", "sleep 60"},
		{"no command", suite.Command{Args: []string{"no-such-program-here"}}, cannot + "command: the command cannot be started: no such program in PATH", "no-such-program-here"},
		{"no JSON", suite.Command{Args: []string{"echo", "hello"}}, cannot + "command: it is not one JSON document", "echo hello"},
		{"tool fails", suite.Call{Tool: "fail", Arguments: none}, cannot + "call: the tool that tells the state failed", "tool_failed"},
		{"no tool", suite.Call{Tool: "none", Arguments: none}, cannot + "call: the tool that tells the state failed", "Unknown tool"},
		{"tool hangs", suite.Call{Tool: "slow", Arguments: json.RawMessage(`{"ms":60000}`)}, cannot + "call: the look took too long", ""},
		{"other dies", snapshot(&dead), cannot + "the server that they ask: the server ended in the middle of a call (exit status 7)", "panic: out of memory"},
		{"other hangs", snapshot(&mute), cannot + "call: the look took too long", ""},
		{"no other", snapshot(&absent), cannot + "the server that they ask: the server could not be started", "no-such-program-here"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			settings := b.settings(suite.PerSuite)
			settings.Timeout = 800 * time.Millisecond
			s := b.open(b.spec([]suite.Effect{test.effect}, inFolder), settings)
			if s.Down() != nil {
				t.Fatal("the surface is down: ", s.Down())
			}
			started := len(b.started())
			opens := maxFailures + 2
			if strings.HasSuffix(test.reason, "took too long") {
				opens = 1 // each of which takes as long
			}
			for i := range opens {
				if i == maxFailures {
					started = len(b.started())
				}
				_, err := s.Open(t.Context())
				u := asUnavailable(err)
				if u == nil || u.Reason != test.reason || !strings.Contains(u.Detail, test.detail) || u.Surface != "notes" {
					t.Fatalf("%v; want %q", err, test.reason)
				}
			}
			if more := len(b.started()) - started; opens > maxFailures && more > 0 {
				t.Errorf("%d were started in vain", more)
			}
			must(t, s.Close())
		})
	}
}

// The server of a surface that dies while it is asked for its state is lost in
// its own words.
func TestServerThatDiesWhileItIsLookedAt(t *testing.T) {
	b := newBed(t)
	// Four looks come before it, two of the surface and two of the session, and a call.
	s := b.open(b.spec([]suite.Effect{snapshot(nil)}, "-fault", "exit-at-call@6", inFolder), b.settings(suite.PerSuite))
	opened := openSession(t, s)
	opened.Call(t.Context(), write("a", "b"))
	_, err := opened.Observe(t.Context())
	unavailable(t, err, "the server ended in the middle of a call (exit status 7)")
	closeSession(t, opened)
	_, effects := replay(t, s, write("a", "b"))
	if diff := cmp.Diff([][]string{{"added /notes/a 0 3"}}, effects); diff != "" {
		t.Error(diff)
	}
}

// A database that comes into being with the first call has to be in the seed; once
// it can be looked at, what changes by itself is found.
func TestStateThatCannotBeSeenAtFirst(t *testing.T) {
	b := newBed(t)
	flag := filepath.Join(t.TempDir(), "flag")
	clock := suite.Command{Args: []string{"sh", "-c", `test -e "$0" || exit 1; printf '{"now":%s}' $(date +%N | sed 's/^0*//')`, flag}}
	s := b.open(b.spec([]suite.Effect{clock}, inFolder), b.settings(suite.PerCase))
	_, err := s.Open(t.Context())
	unavailable(t, err, "the effects could not be counted: command: the command failed: exit status 1")
	must(t, os.WriteFile(flag, nil, 0o600))
	replay(t, s)
	replay(t, s)
	if diff := cmp.Diff([]string{"notes: what changes without any call is not counted: /now"}, b.told()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatChangesByItselfIsNotCounted(t *testing.T) {
	for _, isolation := range []suite.Isolation{suite.PerCase, suite.PerSuite} {
		b := newBed(t)
		// Often enough for the first look at the surface, and too seldom for a session's.
		s := b.open(b.spec(wholeFolder, "-fault", "ticking:20", inFolder), b.settings(isolation))
		for range 3 {
			_, effects := replay(t, s, proposal("slow", `{"ms":80}`), write("a", "b"))
			if diff := cmp.Diff([][]string{nil, {"added a.txt 0 1"}}, effects); diff != "" {
				t.Error(diff)
			}
		}
		if diff := cmp.Diff([]string{"notes: what changes without any call is not counted: clock.txt"}, b.told()); diff != "" {
			t.Error(diff)
		}
	}
}

// counting is a probe whose answers are given.
func counting(t *testing.T, answers ...string) *probe.Watcher {
	t.Helper()
	p := probe.JSON("call", func(context.Context) ([]byte, error) {
		answer := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		return []byte(answer), nil
	})
	w, err := probe.Watch(t.Context(), p)
	must(t, err)
	return w
}

// What the start has found is known to every case; what one case finds by chance is
// told, and does not reach the next.
func TestCasesLearnFromTheStart(t *testing.T) {
	b := newBed(t)
	s := &Surface{spec: suite.Surface{Name: "notes"}, settings: b.settings(suite.PerCase), told: make(map[string]bool)}
	s.settled = counting(t, `{"a":1}`, `{"a":2}`)
	s.tellUnsteady(s.settled)
	s.learn(counting(t, `{"b":1}`, `{"b":2}`))
	w := counting(t, `{"a":1,"b":1,"c":1}`, `{"a":1,"b":1,"c":1}`, `{"a":2,"b":2,"c":2}`)
	s.learn(w)
	effects, err := w.Observe(t.Context())
	must(t, err)
	if diff := cmp.Diff([]string{"changed /b 1 1", "changed /c 1 1"}, told(effects)); diff != "" {
		t.Error(diff)
	}
	const text = "notes: what changes without any call is not counted: "
	if diff := cmp.Diff([]string{text + "/a", text + "/b"}, b.told()); diff != "" {
		t.Error(diff)
	}
}

// What package runners write to their HOME counts for nothing, and what has the
// same name elsewhere does.
func TestNoiseOfPackageRunners(t *testing.T) {
	b := newBed(t)
	elsewhere := t.TempDir()
	effects := []suite.Effect{wholeFolder[0], suite.Directory{Path: elsewhere}}
	s := b.open(b.spec(effects, inFolder), b.settings(suite.PerCase))
	opened := openSession(t, s)
	defer closeSession(t, opened)
	home := opened.bench.folder.path
	for _, file := range []string{".npm/_cacache/x", ".cache/y", "sub/.npm/z", "sub/.cache/z"} {
		put(t, filepath.Join(home, file), "x", 0o644)
	}
	put(t, filepath.Join(elsewhere, ".cache", "x"), "x", 0o644)
	want := []string{"added directory:sub 0 0", "added directory:sub/.cache 0 0", "added directory:sub/.cache/z 0 1",
		"added directory:sub/.npm 0 0", "added directory:sub/.npm/z 0 1", "added directory#2:.cache 0 0", "added directory#2:.cache/x 0 1"}
	if diff := cmp.Diff(want, observe(t, opened)); diff != "" {
		t.Error(diff)
	}
	// A file of that name is none of theirs.
	second := openSession(t, s)
	defer closeSession(t, second)
	put(t, filepath.Join(second.bench.folder.path, ".npm"), "x", 0o644)
	if diff := cmp.Diff([]string{"added directory:.npm 0 1"}, observe(t, second)); diff != "" {
		t.Error(diff)
	}
}

// Servers that are asked for the state keep to the same rules, and are told of
// once.
func TestServersThatEffectsAsk(t *testing.T) {
	b := newBed(t)
	first, second := b.server("-fault", "greet:Welcome", "${SANDBOX}"), b.server("-fault", "modern:only", "${SANDBOX}/..")
	s := b.open(b.spec([]suite.Effect{snapshot(&first), snapshot(&second)}, inFolder), b.settings(suite.PerCase))
	for range 2 {
		opened := openSession(t, s)
		if len(opened.bench.others) != 2 {
			t.Errorf("%d others", len(opened.bench.others))
		}
		opened.Call(t.Context(), write("a", "b"))
		put(t, filepath.Join(opened.bench.folder.root, "out.txt"), "x", 0o644)
		// What is measured does not hold the path.
		opened.Call(t.Context(), write("where", "${SANDBOX}"))
		if diff := cmp.Diff([]string{"added call:/notes/a 0 3", "added call:/notes/where 0 12", "added call#2:/notes/out 0 3"}, observe(t, opened)); diff != "" {
			t.Error(diff)
		}
		closeSession(t, opened)
	}
	if notices := b.told(); len(notices) != 1 || !strings.HasPrefix(notices[0], "notes (the server that its effects ask) breaks the protocol: ") {
		t.Error(notices)
	}
	if count, _, _ := s.Starts(); count != 3 { // one to learn
		t.Errorf("%d starts", count)
	}
}

// One that was lost is replaced, with the whole bench.
func TestLostOtherIsReplaced(t *testing.T) {
	b := newBed(t)
	other := b.server("-fault", "exit-at-call@6", inFolder)
	s := b.open(b.spec([]suite.Effect{snapshot(&other)}, inFolder), b.settings(suite.PerSuite))
	opened := openSession(t, s) // four looks so far
	opened.Call(t.Context(), write("a", "b"))
	observe(t, opened)
	_, err := opened.Observe(t.Context())
	unavailable(t, err, "the effects could not be counted: the server that they ask: the server ended in the middle of a call (exit status 7)")
	closeSession(t, opened)
	replay(t, s, write("a", "b"))
	if count, _, _ := s.Starts(); count != 2 {
		t.Errorf("%d starts", count)
	}
}

var _ tool.Observed = (*session)(nil)
var _ tool.Foreign = (*Surface)(nil)
