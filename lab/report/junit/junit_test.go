package junit

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"agentlab/lab/eval"
	"agentlab/lab/report/reporttest"
)

// elements are what the schema of Jenkins' xUnit plugin, junit-10.xsd of
// github.com/jenkinsci/xunit-plugin, allows of the elements that are used: inside
// which, with which attributes, and which of them must be there.
var elements = map[string]struct{ inside, attributes, required string }{
	"testsuites": {"", "name tests failures errors", ""},
	"testsuite":  {"testsuites", "name tests failures errors skipped", "name tests failures errors"},
	"testcase":   {"testsuite", "name classname", "name"},
	"failure":    {"testcase", "type message", ""},
	"error":      {"testcase", "type message", ""},
	"skipped":    {"testcase", "type message", ""},
	"system-out": {"testcase", "", ""},
}

// check holds a document to the schema and its counts to what is in it, and returns
// how many there are of each element, and all texts.
func check(t *testing.T, document []byte) (map[string]int, string) {
	t.Helper()
	var open []string
	total, texts := map[string]int{}, new(strings.Builder)
	var claimed, seen map[string]int
	for decoder := xml.NewDecoder(bytes.NewReader(document)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return total, texts.String()
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		switch token := token.(type) {
		case xml.StartElement:
			name, inside := token.Name.Local, ""
			if len(open) > 0 {
				inside = open[len(open)-1]
			}
			allowed, known := elements[name]
			if !known || allowed.inside != inside {
				t.Fatalf("%s stands in %q in\n%s", name, inside, document)
			}
			has := " "
			for _, a := range token.Attr {
				if !strings.Contains(" "+allowed.attributes+" ", " "+a.Name.Local+" ") || strings.Contains(has, " "+a.Name.Local+" ") {
					t.Fatalf("%s has %s", name, a.Name.Local)
				}
				has += a.Name.Local + " "
				texts.WriteString(a.Value + "\n")
			}
			for _, required := range strings.Fields(allowed.required) {
				if !strings.Contains(has, " "+required+" ") {
					t.Fatalf("%s has no %s", name, required)
				}
			}
			if name == "testsuite" {
				claimed, seen = map[string]int{}, map[string]int{}
				for _, a := range token.Attr {
					claimed[a.Name.Local], _ = strconv.Atoi(a.Value)
				}
			}
			open = append(open, name)
			total[name]++
			if seen != nil {
				seen[name]++
			}
		case xml.EndElement:
			open = open[:len(open)-1]
			if token.Name.Local == "testsuite" {
				for attribute, element := range map[string]string{"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"} {
					if claimed[attribute] != seen[element] {
						t.Errorf("%s is %d, and there are %d", attribute, claimed[attribute], seen[element])
					}
				}
				seen = nil
			}
		case xml.CharData:
			texts.Write(token)
			if len(open) > 0 && open[len(open)-1] != "failure" && open[len(open)-1] != "system-out" && strings.TrimSpace(string(token)) != "" {
				t.Errorf("a text in %s: %q", open[len(open)-1], token)
			}
		case xml.ProcInst:
		default:
			t.Errorf("%T in\n%s", token, document)
		}
	}
}

func open(w io.Writer, c *eval.Comparison) reporttest.Sink { return New(w, c) }

func TestGolden(t *testing.T) {
	for _, name := range reporttest.Streams {
		document := reporttest.Feed(t, name, open)
		check(t, document)
		reporttest.Golden(t, name+".xml", document)
	}
}

func TestHostileTexts(t *testing.T) {
	for _, s := range reporttest.Hostile {
		pairs := []*eval.Pair{reporttest.HostilePair(s), reporttest.Lost(s), reporttest.Todo(s)}
		var out bytes.Buffer
		reporttest.Render(t, New(&out, reporttest.Compared(t, s, pairs...)), pairs...)
		total, texts := check(t, out.Bytes())
		want := map[string]int{"testsuites": 1, "testsuite": 2, "testcase": 6, "failure": 1, "error": 2, "skipped": 3, "system-out": 1}
		if fmt.Sprint(total) != fmt.Sprint(want) {
			t.Errorf("%q: %v, want %v in\n%s", s, total, want, &out)
		}
		if i := strings.IndexFunc(texts, func(r rune) bool { return r < ' ' && r != '\n' || r == '\u202e' }); i >= 0 {
			t.Errorf("%q: %q is in a text", s, texts[i:i+1])
		}
	}
	pair := reporttest.HostilePair("<b>&amp;</b>")
	var out bytes.Buffer
	reporttest.Render(t, New(&out, reporttest.Compared(t, "s", pair)), pair)
	_, texts := check(t, out.Bytes())
	for _, want := range []string{"<b>&amp;</b>\n", "failed: error_code\n", "<b>&amp;</b>:7\n", "- error_code: expected `", "- proposed: `<b>&amp;</b>` ", "What had to come of it: "} {
		if !strings.Contains(texts, want) {
			t.Errorf("no %q in\n%s", want, texts)
		}
	}
}

// What is too much to be held goes through a file, of which nothing is left.
func TestManyRuns(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	pair := reporttest.HostilePair("x")
	c := reporttest.Compared(t, "s", pair)
	const runs = 20000
	c.Baseline.TotalCases, c.Candidate.TotalCases = runs, runs
	var out bytes.Buffer
	r := New(&out, c)
	for range runs {
		if err := r.Add(pair); err != nil {
			t.Fatal(err)
		}
		if r.candidate.held.Len() > maxHeld {
			t.Fatalf("%d bytes are held", r.candidate.held.Len())
		}
	}
	if r.candidate.file == nil {
		t.Error("nothing was put into a file")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if total, _ := check(t, out.Bytes()); total["testcase"] != 2*runs {
		t.Errorf("%v", total)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
