package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/suite"
)

// places are folders for temporary files, some of which need escapes.
var places = []string{"/tmp", "/var/folders/x y/T", `/t/quo"te`, `/t/back\slash\`, "/t/ünï/日本/𝄞", "/t/50%/#a?b&c=d+e", "/t/\x01new\nline", `/t/<&>'`}

func showIn(place string) *shown {
	root := place + "/lab-sandbox-0123456789"
	s := show(root+"/sandbox", root)
	return &s
}

// wantHidden fails where anything of the path of this run is left.
func wantHidden(t interface{ Errorf(string, ...any) }, s *shown, text string) {
	if strings.Contains(text, s.mark) {
		t.Errorf("the path is still there: %s", text)
	}
}

// The environment of a server holds what tells it from the server of every other
// run.
func TestTheMarkOfAProcessLeaves(t *testing.T) {
	s := showIn(places[0])
	const said, want = `{"text":"A=1\nLAB_PROCESS_ABCDEFGHIJKLMNOPQRSTUVW234=1"}`, `{"text":"A=1\nLAB_PROCESS_=1"}`
	if got := string(s.leave([]byte(said))); got != want {
		t.Error(got)
	}
	if got := s.leaveText(said); got != want {
		t.Error(got)
	}
}

func TestEnterAndLeave(t *testing.T) {
	v := suite.SandboxVariable
	documents := []string{
		`{}`, `[]`, `"` + v + `"`, ` [ "` + v + `" , {"` + v + `" : 1} ] `,
		`{"a":"x` + v + `/b` + v + `","c":"\"` + v + `\\","d":"${SANDBOX}/.."}`,
		`{"text":"{\"path\":\"` + v + `/a\",\"deeper\":\"[\\\"` + v + `\\\"]\"}"}`,
		`{"none":"$SANDBOX ${SANDBOX ${sandbox}"}`,
		`{"not JSON":"{` + v + `","but":"{} ` + v + `"}`,
	}
	for _, place := range places {
		s := showIn(place)
		for _, document := range documents {
			entered := s.enter([]byte(document))
			value, err := jsonvalue.Decode(entered)
			if err != nil {
				t.Errorf("%s in %s: %v", document, place, err)
				continue
			}
			if strings.Contains(document, v) == strings.Contains(string(entered), v) && strings.Contains(document, v) {
				t.Errorf("the variable is still there: %s", entered)
			}
			if left := string(s.leave(entered)); left != document {
				t.Errorf("%s: %s came back as %s", place, document, left)
			}
			if m, ok := value.(map[string]any); ok && m["text"] != nil {
				var inner struct{ Path, Deeper string }
				var deeper []string
				if err := json.Unmarshal([]byte(m["text"].(string)), &inner); err != nil {
					t.Error(err)
				} else if err := json.Unmarshal([]byte(inner.Deeper), &deeper); err != nil {
					t.Error(err)
				} else if inner.Path != s.path+"/a" || deeper[0] != s.path {
					t.Errorf("%q, %q; want %q", inner.Path, deeper, s.path)
				}
			}
		}
	}
}

// What is not one JSON document is handed on as it is, but for the variable.
func TestEnterTakesAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := showIn(rapid.SampledFrom(places).Draw(t, "place"))
		text := rapid.StringOf(rapid.SampledFrom([]rune(`{}[]"\:,a `))).Draw(t, "text")
		if entered := string(s.enter([]byte(text))); entered != text {
			t.Fatalf("%q became %q", text, entered)
		}
		s.enter([]byte(text + suite.SandboxVariable + text))
	})
}

// encoders are how servers write a path into what they answer.
var encoders = map[string]func(path string) string{
	"plain JSON": func(path string) string { return string(jsonvalue.AppendString(nil, path)) },
	"escaped slashes": func(path string) string {
		return strings.ReplaceAll(string(jsonvalue.AppendString(nil, path)), "/", `\/`)
	},
	"ASCII alone": func(path string) string { return `"` + ascii(inString(path), `\u%04x`) + `"` },
	"URL":         func(path string) string { return `"` + inString("file://"+(&url.URL{Path: path}).EscapedPath()) + `"` },
	"part of a URL": func(path string) string {
		return `"` + inString("?path="+url.PathEscape(path)) + `"`
	},
}

func TestEveryFormLeaves(t *testing.T) {
	for _, place := range places {
		s := showIn(place)
		root := strings.TrimSuffix(s.path, "/sandbox")
		for name, encode := range encoders {
			for _, way := range []struct{ path, want string }{
				{s.path, "${SANDBOX}"}, {s.path + "/a", "${SANDBOX}/a"}, {root, "${SANDBOX}/.."}, {root + "/b", "${SANDBOX}/../b"},
			} {
				plain := encode(way.path)
				// In a document within a document too.
				for _, document := range []string{`{"p":` + plain + `}`, `{"p":` + string(jsonvalue.AppendString(nil, `{"q":`+plain+`}`)) + `}`} {
					left := string(s.leave([]byte(document)))
					wantHidden(t, s, left)
					flat := strings.NewReplacer(`\`, "", "%2F", "/").Replace(left)
					if !json.Valid([]byte(left)) || !strings.Contains(flat, way.want+`"`) {
						t.Errorf("%s by %s in %s: %s", way.path, name, place, left)
					}
				}
			}
		}
		for text, want := range map[string]string{
			"open " + s.path + "/a: no such file":               "open ${SANDBOX}/a: no such file",
			"in " + root + " there is":                          "in ${SANDBOX}/.. there is",
			s.path + s.path:                                     "${SANDBOX}${SANDBOX}",
			`{"p":"` + inString(s.path) + `"}`:                  `{"p":"${SANDBOX}"}`,
			"file://" + s.path[:0] + "/else/" + s.mark:          "file:///else/lab-sandbox",
			"cut: " + s.path[:strings.Index(s.path, s.mark)+15]: "cut: " + place + "/" + s.mark[:14],
			"nothing": "nothing",
		} {
			if left := s.leaveText(text); left != want && !strings.HasPrefix(text, "cut") {
				t.Errorf("%s: %q, want %q", place, left, want)
			}
		}
	}
}

func TestPathOfAnotherStays(t *testing.T) {
	s := showIn("/tmp")
	for _, text := range []string{`{"p":"/tmp/lab-sandbox-9876543210/sandbox"}`, `{"p":"/tmp"}`, `{"p":"sandbox"}`} {
		if left := s.leave([]byte(text)); !bytes.Equal(left, []byte(text)) {
			t.Errorf("%s became %s", text, left)
		}
	}
}

func BenchmarkLeave(b *testing.B) {
	s := showIn("/tmp")
	for _, path := range []string{"/elsewhere", s.path} {
		document := []byte(`{"content":[` + strings.Repeat(fmt.Sprintf(`{"type":"text","text":"%s/a"},`, path), 1000) + `{}]}`)
		b.Run(path[:5], func(b *testing.B) {
			b.SetBytes(int64(len(document)))
			for b.Loop() {
				s.leave(document)
			}
		})
	}
}
