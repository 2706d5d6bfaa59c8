package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"agentlab/tests/casegen"
	"agentlab/tests/faultserver"
)

var update = flag.Bool("update", false, "write the golden parts of the scripts anew")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"lab":         main,
		"faultserver": faultserver.Main,
		"cases":       func() { casegen.Write(os.Stdout, atoi(os.Args[1])) },
	})
}

// TestScripts runs tests/script. In the scripts, beside the commands of
// testscript, are
//
//	lab ...           the command under test
//	cases N           prints N cases
//	exits CODE ...    runs a command, which must exit with just this code
//	only DIR FILE...  fails unless the directory holds these files and no other
//	[exists:FILE]     holds where there is such a file
//
// and $ROOT is the top of the tree.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join(root, "tests", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("ROOT", root)
			env.Setenv("GORACE", atOnce)
			return nil
		},
		UpdateScripts: *update,
		Condition: func(cond string) (bool, error) {
			file, known := strings.CutPrefix(cond, "exists:")
			if !known {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			_, err := os.Stat(file)
			return err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"only":  only,
		},
	})
}

// atOnce is the value of GORACE with which a lab that has the race detector in
// it does not wait a second before it ends.
const atOnce = "atexit_sleep_ms=0"

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command...")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if code != atoi(args[0]) {
		ts.Fatalf("exit code is %d, want %s", code, args[0])
	}
}

func only(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: only DIR FILE...")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	var found []string
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	if want := args[1:]; fmt.Sprint(found) != fmt.Sprint(want) {
		ts.Fatalf("%s holds %v, want %v", args[0], found, want)
	}
}

func atoi(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}
