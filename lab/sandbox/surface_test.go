//go:build unix

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/mcp"
	"agentlab/lab/suite"
	"agentlab/lab/tool"
)

func TestCasesSeeNothingOfEachOther(t *testing.T) {
	for _, isolation := range []suite.Isolation{suite.PerCase, suite.PerSuite} {
		t.Run(string(isolation), func(t *testing.T) {
			b := newBed(t)
			spec := b.spec(wholeFolder, inFolder)
			spec.Sandbox.Seed = t.TempDir()
			put(t, filepath.Join(spec.Sandbox.Seed, "kept.txt"), "kept\n", 0o644)
			s := b.open(spec, b.settings(isolation))
			if len(s.Definitions()) < 10 || s.Down() != nil || s.Name() != "notes" {
				t.Fatal(s.Definitions(), s.Down(), s.Name())
			}
			for range 3 {
				results, effects := replay(t, s,
					write("kept", "!"), proposal("delete_note", `{"key":"kept"}`), write("new", "one"), proposal("list_notes", `{}`))
				want := [][]string{{"changed kept.txt 5 1"}, {"removed kept.txt 1 0"}, {"added new.txt 0 3"}, nil}
				if diff := cmp.Diff(want, effects); diff != "" {
					t.Error(diff)
				}
				if text := string(results[3].Output); text != `{"items":["new"]}` {
					t.Error(text)
				}
			}
			want := 4 // one to learn
			if isolation == suite.PerSuite {
				want = 1
			}
			count, median, longest := s.Starts()
			if count != want || len(b.started()) != want || median <= 0 || longest < median {
				t.Errorf("%d, %d starts, want %d; %s, %s", count, len(b.started()), want, median, longest)
			}
			if text, err := os.ReadFile(filepath.Join(spec.Sandbox.Seed, "kept.txt")); string(text) != "kept\n" {
				t.Error(string(text), err)
			}
		})
	}
}

func TestEffectsOfASessionAddUp(t *testing.T) {
	b := newBed(t)
	s := b.open(b.spec(wholeFolder, inFolder), b.settings(suite.PerCase))
	opened := openSession(t, s)
	for i := range 3 {
		opened.Call(t.Context(), write(fmt.Sprint("note-", i), "x"))
		observe(t, opened)
		if opened.Effects() != i+1 {
			t.Errorf("%d effects after %d writes", opened.Effects(), i+1)
		}
	}
	closeSession(t, opened)
	closeSession(t, opened) // again is no harm
	if count := len(s.idle); count != 0 {
		t.Errorf("%d benches are kept", count)
	}
}

func TestSessionsAtOnceHaveFoldersOfTheirOwn(t *testing.T) {
	for _, isolation := range []suite.Isolation{suite.PerCase, suite.PerSuite} {
		b := newBed(t)
		s := b.open(b.spec(wholeFolder, inFolder), b.settings(isolation))
		const sessions, rounds = 4, 3
		var group sync.WaitGroup
		var mu sync.Mutex
		paths := make(map[string]int)
		for i := range sessions {
			group.Go(func() {
				for range rounds {
					opened, err := s.Open(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					paths[opened.(*session).bench.folder.path]++
					mu.Unlock()
					result := opened.Call(t.Context(), write("same", strings.Repeat("x", i+1)))
					effects, err := opened.(*session).Observe(t.Context())
					want := []string{fmt.Sprintf("added same.txt 0 %d", i+1)}
					if result.Error != nil || err != nil || !cmp.Equal(told(effects), want) {
						t.Errorf("%v, %v, %v", result.Error, told(effects), err)
					}
					if err := opened.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		want := sessions * rounds
		count, _, _ := s.Starts()
		if isolation == suite.PerSuite {
			if count > sessions || len(paths) != count {
				t.Errorf("%d starts, %v", count, paths)
			}
		} else if count != want+1 || len(paths) != want { // one to learn
			t.Errorf("%d starts, %v", count, paths)
		}
	}
}

// A session twice closed must not give its bench to two others.
func TestBenchIsGivenToOne(t *testing.T) {
	b := newBed(t)
	s := b.open(b.spec(nil, inFolder), b.settings(suite.PerSuite))
	first := openSession(t, s)
	closeSession(t, first)
	closeSession(t, first)
	second, third := openSession(t, s), openSession(t, s)
	if second.bench == third.bench || second.bench != first.bench {
		t.Error("two sessions share a bench")
	}
	closeSession(t, second)
	closeSession(t, third)
}

func TestServerIsNotGivenOn(t *testing.T) {
	tests := []struct {
		name  string
		fault string
		use   func(t *testing.T, s *session)
	}{
		{"lost in a call", "exit-at-call@1", func(t *testing.T, s *session) {
			s.Call(t.Context(), write("a", "b"))
			unavailable(t, s.Lost(), "the server ended in the middle of a call (exit status 7)")
		}},
		{"busy with a call that timed out", "hang@1", func(t *testing.T, s *session) {
			result := s.Call(t.Context(), write("a", "b"))
			if result.Error == nil || result.Error.Code != tool.ToolTimeout || s.Lost() != nil {
				t.Error(result.Error, s.Lost())
			}
		}},
		{"busy with a call that was cancelled", "hang@1", func(t *testing.T, s *session) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if result := s.Call(ctx, write("a", "b")); result.Error == nil {
				t.Error(result.Output)
			}
		}},
		{"its folder cannot be reset", "flood-stderr", func(t *testing.T, s *session) {
			f := s.bench.folder
			must(t, os.RemoveAll(f.root), os.WriteFile(f.root, nil, 0o600))
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t)
			settings := b.settings(suite.PerSuite)
			settings.Timeout = time.Second
			s := b.open(b.spec(wholeFolder, "-fault", test.fault, inFolder), settings)
			opened := openSession(t, s)
			test.use(t, opened)
			closeSession(t, opened)
			second := openSession(t, s)
			if second.bench == opened.bench {
				t.Error("the bench was given on")
			}
			closeSession(t, second)
			if count, _, _ := s.Starts(); count != 2 {
				t.Errorf("%d starts", count)
			}
		})
	}
}

// A text is expanded to the folder of the one session, and of no other.
func TestExpand(t *testing.T) {
	b := newBed(t)
	s := b.open(b.spec(nil, inFolder), b.settings(suite.PerCase))
	first, second := openSession(t, s), openSession(t, s)
	defer closeSession(t, first)
	defer closeSession(t, second)
	for _, opened := range []*session{first, second} {
		want := opened.bench.folder.path
		for text, expanded := range map[string]string{
			suite.SandboxVariable:                                       want,
			suite.SandboxVariable + "/x":                                want + "/x",
			suite.SandboxVariable + "/a:" + suite.SandboxVariable + "/": want + "/a:" + want + "/",
			"/elsewhere/SANDBOX":                                        "/elsewhere/SANDBOX",
			"":                                                          "",
		} {
			if got := Expand(opened, text); got != expanded {
				t.Errorf("%q: %q, want %q", text, got, expanded)
			}
		}
	}
	if first.bench.folder.path == second.bench.folder.path {
		t.Error("two sessions have one folder")
	}
	var other tool.Session
	for _, text := range []string{suite.SandboxVariable, "x"} {
		if got := Expand(other, text); got != text {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// A server that is found dead between two cases, or that died while its state was
// looked at before the first, is replaced.
func TestDeadServerIsReplaced(t *testing.T) {
	b := newBed(t)
	effects := []suite.Effect{suite.Call{Tool: "snapshot", Arguments: json.RawMessage(`{}`)}}
	// The first look is call 1 of the first server, and the flag is there once.
	flag := filepath.Join(t.TempDir(), "flag")
	put(t, flag, "", 0o600)
	spec := b.spec(effects, inFolder)
	spec.Server.Command = append([]string{"/bin/sh", "-c",
		`if rm "$0" 2>/dev/null; then exec "$@" -fault exit-at-call@1 "$SANDBOX_PATH"; fi; exec "$@" "$SANDBOX_PATH"`, flag}, b.server().Command...)
	spec.Server.Env["SANDBOX_PATH"] = suite.SandboxVariable
	s := b.open(spec, b.settings(suite.PerSuite))
	if s.Down() != nil {
		t.Fatal(s.Down())
	}
	_, told := replay(t, s, write("a", "b"))
	if diff := cmp.Diff([][]string{{"added /notes/a 0 3"}}, told); diff != "" {
		t.Error(diff)
	}
	if count, _, _ := s.Starts(); count != 2 {
		t.Errorf("%d starts", count)
	}
}

// TMPDIR of every kind: the server is told the path, and nothing says it again.
func TestPathIsNeverTold(t *testing.T) {
	top := t.TempDir()
	must(t, os.Mkdir(filepath.Join(top, "target"), 0o755), os.Symlink("target", filepath.Join(top, "link")))
	for _, name := range []string{"plain", "two words", `quo"te and back\slash\`, "ünï 日本", "50%#&+", "link"} {
		t.Run(name, func(t *testing.T) {
			b := newBedIn(t, filepath.Join(top, name))
			s := b.open(b.spec(wholeFolder, inFolder), b.settings(suite.PerCase))
			opened := openSession(t, s)
			defer closeSession(t, opened)
			path := opened.bench.folder.path

			arguments := `{"list":["${SANDBOX}",{"${SANDBOX}":"a${SANDBOX}/b"}],"n":9007199254740993,"text":"{\"path\":\"${SANDBOX}/c\"}"}`
			result := opened.Call(t.Context(), proposal("echo", arguments))
			if result.Error != nil || string(result.Output) != arguments {
				t.Errorf("%s, %v", result.Output, result.Error)
			}
			if want := mcp.Fingerprint(json.RawMessage(arguments)); result.Trace.Fingerprint != want || want == "" {
				t.Errorf("the fingerprint is %s, want %s", result.Trace.Fingerprint, want)
			}
			// What came over the wire is the path.
			entered, err := jsonvalue.Decode(opened.bench.folder.shown.enter([]byte(arguments)))
			if must(t, err); entered.(map[string]any)["list"].([]any)[0] != path {
				t.Errorf("%v, want %s", entered, path)
			}

			result = opened.Call(t.Context(), proposal("echo_text", `{"text":"${SANDBOX}/.. and ${SANDBOX}"}`))
			wantReply(t, b, opened, result, "${SANDBOX}/.. and ${SANDBOX}")
			result = opened.Call(t.Context(), proposal("fail", `{"message":"cannot open ${SANDBOX}/a"}`))
			wantReply(t, b, opened, result, "cannot open ${SANDBOX}/a")
			if result.Error == nil || result.Error.Message != "cannot open ${SANDBOX}/a" {
				t.Error(result.Error)
			}
			result = opened.Call(t.Context(), proposal("fail_coded", `{"code":"c ${SANDBOX}","category":"t ${SANDBOX}","message":"m ${SANDBOX}"}`))
			if e := result.Error; e == nil || e.Code != "c ${SANDBOX}" || e.Category != "t ${SANDBOX}" || e.Message != "m ${SANDBOX}" {
				t.Error(e)
			}
			wantReply(t, b, opened, result, `{"code":"c ${SANDBOX}","category":"t ${SANDBOX}","message":"m ${SANDBOX}","retryable":false}`)
			// The error of a protocol is no answer.
			result = opened.Call(t.Context(), proposal(path+"/tool", `{}`))
			if e := result.Error; e == nil || e.Code != tool.ProtocolError || e.Message != "Unknown tool: ${SANDBOX}/tool" {
				t.Error(e)
			}
			result = opened.Call(t.Context(), proposal("number", `{"unchanged":1}`))
			if want := mcp.Fingerprint(json.RawMessage(`{"unchanged":1}`)); result.Trace.Fingerprint != want {
				t.Errorf("the fingerprint is %s, want %s", result.Trace.Fingerprint, want)
			}
			opened.Call(t.Context(), write("here", "${SANDBOX}"))
			text, err := os.ReadFile(filepath.Join(path, "here.txt"))
			if string(text) != path {
				t.Errorf("the server wrote %q, %v; want %q", text, err, path)
			}
		})
	}
}

// wantReply fails unless all that a result holds is free of the path, and one of
// its texts is as it should be.
func wantReply(t *testing.T, b *bed, s *session, result tool.Result, text string) {
	t.Helper()
	if result.Reply == nil || len(result.Reply.Texts) != 1 || result.Reply.Texts[0] != text {
		t.Errorf("%+v; want %q", result.Reply, text)
	}
	whole, err := json.Marshal(result)
	must(t, err)
	if strings.Contains(string(whole), filepath.Base(s.bench.folder.root)) {
		t.Errorf("the path is told: %s", whole)
	}
}

// What a server says of an error has the path in places of its own.
func TestDetailsDoNotTellThePath(t *testing.T) {
	b := newBed(t)
	s := b.open(b.spec(nil, "${SANDBOX}/none"), b.settings(suite.PerCase))
	results, _ := replay(t, s, write("a", "b"))
	if e := results[0].Error; e == nil || e.Message != "open ${SANDBOX}/none/a.txt: no such file or directory" {
		t.Error(e)
	}
	opened := openSession(t, s)
	defer closeSession(t, opened)
	result := opened.Call(t.Context(), proposal("add", `{"a":"${SANDBOX}","b":1}`))
	if result.Error == nil {
		t.Error(string(result.Output))
	}
	wantHidden(t, &opened.bench.folder.shown, fmt.Sprint(result.Error))
}

// The server runs beside its suite file, with the sandbox as its HOME, and finds
// the path in its environment.
func TestSurroundingsOfTheServer(t *testing.T) {
	b := newBed(t)
	dir := t.TempDir()
	spec := b.spec(wholeFolder, inFolder)
	spec.Server.Command = append([]string{"/bin/sh", "-c", `
		pwd > "$HOME/pwd"; echo "$HOME" > "$HOME/home"; echo "$WHERE" > "$HOME/where"; exec "$0" "$@"`}, spec.Server.Command...)
	spec.Server.Env["WHERE"] = "in ${SANDBOX}"
	settings := b.settings(suite.PerCase)
	settings.Dir = dir
	s := b.open(spec, settings)
	opened := openSession(t, s)
	defer closeSession(t, opened)
	path := opened.bench.folder.path
	want := map[string]string{"pwd": dir, "home": path, "where": "in " + path}
	for name, want := range want {
		if text, err := os.ReadFile(filepath.Join(path, name)); string(text) != want+"\n" {
			t.Errorf("%s: %q, %v; want %q", name, text, err, want)
		}
	}
}

func TestDown(t *testing.T) {
	tests := []struct {
		name    string
		command []string
		faults  []string
		reason  string
	}{
		{name: "no program", command: []string{"no-such-program-here"}, reason: "the server could not be started"},
		{name: "ends at its start", faults: []string{"exit-at-start"}, reason: "the server ended at its start (exit status 7)"},
		{name: "never initialized", faults: []string{"never-initialize"}, reason: "the server did not answer initialize within 1s"},
		{name: "does not list", faults: []string{"list-error:x", "pages"}, reason: ""},
		{name: "lists nothing", faults: []string{"list-hang", "child", "daemon"}, reason: "the server did not answer tools/list within 1s"},
		{name: "pages for ever", faults: []string{"repeat-cursor"}, reason: "the server pages for ever: tools/list does not come to an end"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t)
			var args []string
			for _, fault := range test.faults {
				args = append(args, "-fault", fault)
			}
			spec := b.spec(wholeFolder, append(args, inFolder)...)
			if test.command != nil {
				spec.Server.Command = test.command
			}
			settings := b.settings(suite.PerCase)
			settings.Timeout = time.Second
			s := b.open(spec, settings)
			if test.reason == "" {
				if s.Down() != nil || len(s.Definitions()) != 0 {
					t.Error(s.Down(), s.Definitions())
				}
				return
			}
			if s.Down() == nil || s.Down().Reason != test.reason || s.Down().Surface != "notes" || s.Definitions() != nil {
				t.Fatal(s.Down(), s.Definitions())
			}
			b.wantNothingLeft()
			started := len(b.started())
			for range 5 {
				_, err := s.Open(t.Context())
				u := unavailable(t, err, test.reason)
				u.Reason = "changed by whoever has it"
			}
			if n := len(b.started()); n != started {
				t.Errorf("%d more were started", n-started)
			}
		})
	}
}

// flaky is a server that starts as long as there is a file.
func flaky(t *testing.T, b *bed, effects []suite.Effect) (spec suite.Surface, flag, log string) {
	t.Helper()
	dir := t.TempDir()
	flag = filepath.Join(dir, "flag")
	put(t, flag, "", 0o600)
	spec = b.spec(effects, inFolder)
	spec.Server.Command = append([]string{"/bin/sh", "-c", `echo start >> "$0.log"; test -e "$0" || exit 9; exec "$@"`, flag}, spec.Server.Command...)
	return spec, flag, flag + ".log"
}

func starts(t *testing.T, log string) int {
	text, err := os.ReadFile(log)
	must(t, err)
	return strings.Count(string(text), "start\n")
}

func TestThreeFailingStartsEndTheWaiting(t *testing.T) {
	b := newBed(t)
	spec, flag, log := flaky(t, b, nil)
	s := b.open(spec, b.settings(suite.PerCase))
	replay(t, s, write("a", "b"))
	const reason = "the server ended at its start (exit status 9)"
	fail := func(times int) {
		t.Helper()
		must(t, os.Remove(flag))
		for range times {
			_, err := s.Open(t.Context())
			unavailable(t, err, reason)
		}
		must(t, os.WriteFile(flag, nil, 0o600))
	}
	fail(2)
	replay(t, s, write("a", "b")) // which ends the row
	fail(2)
	replay(t, s, write("a", "b"))
	fail(3)
	before := starts(t, log)
	for range 3 {
		_, err := s.Open(t.Context())
		unavailable(t, err, reason)
	}
	if after := starts(t, log); after != before {
		t.Errorf("%d more were started", after-before)
	}
	if s.Down() != nil || len(s.Definitions()) == 0 {
		t.Error("what was known of the surface has changed")
	}
	if count, _, _ := s.Starts(); count != 3 {
		t.Errorf("%d starts", count)
	}
}

// Whatever is there still serves, though nothing more can be started.
func TestIdleServersOutliveFailingStarts(t *testing.T) {
	b := newBed(t)
	spec, flag, _ := flaky(t, b, wholeFolder)
	s := b.open(spec, b.settings(suite.PerSuite))
	first := openSession(t, s)
	must(t, os.Remove(flag))
	for range maxFailures + 1 {
		if _, err := s.Open(t.Context()); asUnavailable(err) == nil {
			t.Fatal(err)
		}
	}
	closeSession(t, first)
	_, effects := replay(t, s, write("a", "b"))
	if diff := cmp.Diff([][]string{{"added a.txt 0 1"}}, effects); diff != "" {
		t.Error(diff)
	}
}

func TestTemporaryFolderThatCannotBeUsed(t *testing.T) {
	b := newBed(t)
	spec := b.spec(nil, inFolder)
	s := b.open(spec, b.settings(suite.PerCase))
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	replay(t, s, write("a", "b")) // on the bench that was there at the start
	for range maxFailures + 1 {
		_, err := s.Open(t.Context())
		if u := unavailable(t, err, "the sandbox could not be made"); !strings.Contains(u.Detail, "no such file") {
			t.Error(u.Detail)
		}
	}
	down := b.open(spec, b.settings(suite.PerCase))
	if down.Down() == nil || down.Down().Reason != "the sandbox could not be made" {
		t.Error(down.Down())
	}
	t.Setenv("TMPDIR", b.tmp)
}

// What could not be removed is tried again at the end, and is told once where it
// still cannot be.
func TestWhatCannotBeRemovedIsTold(t *testing.T) {
	for _, passes := range []bool{false, true} {
		b := newBed(t)
		s, err := Open(t.Context(), b.spec(wholeFolder, inFolder), b.settings(suite.PerCase))
		must(t, err)
		opened := openSession(t, s)
		f := opened.bench.folder
		kept := f.root
		f.root = "/proc/version"
		if err := opened.Close(); err == nil || !strings.HasPrefix(err.Error(), "remove the sandbox: ") {
			t.Error(err)
		}
		if passes {
			f.root = kept
			must(t, s.Close())
			if _, err := os.Lstat(kept); !errors.Is(err, fs.ErrNotExist) {
				t.Error("the folder is still there:", err)
			}
			continue
		}
		if err := s.Close(); err == nil || strings.Count(err.Error(), "remove the sandbox: ") != 1 {
			t.Error(err)
		}
		f.root = kept
		must(t, f.remove())
	}
}

// The same of a server that does not even start.
func TestTheFolderOfAServerThatDoesNotStartIsRemovedInTheEnd(t *testing.T) {
	b := newBed(t)
	s, err := Open(t.Context(), b.spec(wholeFolder, inFolder), b.settings(suite.PerCase))
	must(t, err)
	f, err := newFolder(t.Context(), "")
	must(t, err)
	s.leave(f)
	s.leave(nil)
	must(t, s.Close())
	if _, err := os.Lstat(f.root); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the folder is still there:", err)
	}
}

func TestClosed(t *testing.T) {
	for _, isolation := range []suite.Isolation{suite.PerCase, suite.PerSuite} {
		b := newBed(t)
		s := b.open(b.spec(wholeFolder, inFolder), b.settings(isolation))
		open := []*session{openSession(t, s), openSession(t, s)}
		calling := openSession(t, s)
		called := make(chan tool.Result)
		go func() { called <- calling.Call(t.Context(), proposal("slow", `{"ms":60000}`)) }()
		for !held(calling.bench) {
			time.Sleep(time.Millisecond)
		}
		closeSession(t, openSession(t, s))
		promptly(t, "Close", func() { must(t, s.Close()) })
		b.wantNothingLeft()
		if result := <-called; result.Error == nil {
			t.Error(string(result.Output))
		}
		for _, opened := range append(open, calling) {
			if opened.Lost() == nil {
				t.Error("the session takes calls")
			}
			if result := opened.Call(t.Context(), write("a", "b")); result.Error == nil {
				t.Error(string(result.Output))
			}
			if _, err := opened.Observe(t.Context()); asUnavailable(err) == nil {
				t.Error(err)
			}
			closeSession(t, opened)
		}
		_, err := s.Open(t.Context())
		unavailable(t, err, "the surface was closed")
		must(t, s.Close())
	}
}

// held reports whether somebody works at a bench.
func held(b *bench) bool {
	if b.turn.TryLock() {
		b.turn.Unlock()
		return false
	}
	return true
}

// A server that is about to start is ended with the surface.
func TestCloseDuringAStart(t *testing.T) {
	b := newBed(t)
	spec, flag, log := flaky(t, b, nil)
	spec.Server.Command[2] = `echo start >> "$0.log"; test -e "$0" || exec sleep 60; exec "$@"`
	s := b.open(spec, b.settings(suite.PerCase))
	must(t, os.Remove(flag))
	held := openSession(t, s)
	done := make(chan error)
	go func() {
		_, err := s.Open(t.Context())
		done <- err
	}()
	for starts(t, log) < 2 {
		time.Sleep(time.Millisecond)
	}
	promptly(t, "Close", func() { must(t, s.Close()) })
	unavailable(t, <-done, "the surface was closed")
	closeSession(t, held)
	b.wantNothingLeft()
}

func TestCancelled(t *testing.T) {
	tests := []struct {
		name    string
		faults  []string
		effects []suite.Effect
		pids    int
	}{
		{"at the start", []string{"never-initialize", "child"}, nil, 2},
		{"while tools are listed", []string{"list-hang", "daemon"}, nil, 2},
		{"in the first look", nil, []suite.Effect{suite.Command{Args: []string{"sleep", "60"}}}, 1},
		{"in the pause", nil, []suite.Effect{suite.Call{Tool: "slow", Arguments: json.RawMessage(`{"ms":60000}`)}}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t)
			var args []string
			for _, fault := range test.faults {
				args = append(args, "-fault", fault)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				for len(b.started()) < test.pids {
					time.Sleep(time.Millisecond)
				}
				time.Sleep(50 * time.Millisecond) // so that it is where the test wants it
				cancel()
			}()
			promptly(t, "Open", func() {
				s, err := Open(ctx, b.spec(test.effects, append(args, inFolder)...), b.settings(suite.PerCase))
				if s != nil || !errors.Is(err, context.Canceled) || asUnavailable(err) != nil {
					t.Error(s, err)
				}
			})
		})
	}
	t.Run("before", func(t *testing.T) {
		b := newBed(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if s, err := Open(ctx, b.spec(nil, inFolder), b.settings(suite.PerCase)); s != nil || !errors.Is(err, context.Canceled) {
			t.Error(s, err)
		}
		s := b.open(b.spec(wholeFolder, inFolder), b.settings(suite.PerCase))
		for range maxFailures + 1 {
			if opened, err := s.Open(ctx); opened != nil || !errors.Is(err, context.Canceled) {
				t.Error(opened, err)
			}
		}
		replay(t, s, write("a", "b")) // a cancelled start is no failing one
	})
	t.Run("in a look", func(t *testing.T) {
		b := newBed(t)
		script := `if test -e "$0/a.txt"; then sleep 60; else echo {}; fi`
		effects := []suite.Effect{suite.Command{Args: []string{"sh", "-c", script, suite.SandboxVariable}}}
		s := b.open(b.spec(effects, inFolder), b.settings(suite.PerSuite))
		opened := openSession(t, s)
		opened.Call(t.Context(), write("a", "b"))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		promptly(t, "Observe", func() {
			if _, err := opened.Observe(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
		closeSession(t, opened)
		replay(t, s)
		if count, _, _ := s.Starts(); count != 2 {
			t.Errorf("%d starts", count)
		}
	})
	t.Run("in a reset", func(t *testing.T) {
		b := newBed(t)
		spec := b.spec(nil, inFolder)
		spec.Sandbox.Seed = seed(t)
		s := b.open(spec, b.settings(suite.PerSuite))
		replay(t, s, write("a", "b"))
		for asked := range 6 {
			if _, err := s.take(endsAfter(t.Context(), asked)); !errors.Is(err, context.Canceled) {
				t.Error(asked, err)
			}
		}
		replay(t, s, write("a", "b"))
	})
}

func TestNames(t *testing.T) {
	if list([]string{"a", "b"}) != "a, b" {
		t.Error(list([]string{"a", "b"}))
	}
	many := slices.Repeat([]string{"x"}, maxListed+2)
	if text := list(many); !strings.HasSuffix(text, "x, and 2 more") || strings.Count(text, "x") != maxListed {
		t.Error(text)
	}
}
