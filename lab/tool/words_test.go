package tool_test

import (
	"strings"
	"testing"

	"agentlab/lab/tool"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		strings.Repeat("x", 1000):       strings.Repeat("x", 1000),
		strings.Repeat("x", 1001):       strings.Repeat("x", 1000) + "…",
		"x" + strings.Repeat("€", 400):  "x" + strings.Repeat("€", 333) + "…",
		"a\xffb":                        "a\uFFFDb",
		"xx" + strings.Repeat("€", 333): "xx" + strings.Repeat("€", 332) + "…",
	} {
		if got := tool.Words(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	for _, tt := range []struct {
		text  string
		limit int
		want  string
	}{{"abc", 3, "abc"}, {"abc", 2, "ab…"}, {"é", 1, "…"}, {"\x80\x80\x80\x80\x80\x80\x80", 6, "\x80\x80…"}, {"ab", 0, "…"}} {
		if got := tool.Cut(tt.text, tt.limit); got != tt.want {
			t.Errorf("%q cut at %d is %q, want %q", tt.text, tt.limit, got, tt.want)
		}
	}
}

func TestCodesArePlain(t *testing.T) {
	for _, f := range tool.Failures() {
		if !f.Code.Plain() {
			t.Errorf("%s is not as codes are written", f.Code)
		}
	}
	for code, want := range map[tool.Code]bool{
		"a": true, "a1": true, "disk_full": true, "a_1": true, tool.Code(strings.Repeat("x", 64)): true,
		"": false, "_a": false, "a_": false, "a__b": false, "1a": false, "_": false, "Disk": false, "a b": false, "é": false, "a.b": false, "{": false,
		tool.Code(strings.Repeat("x", 65)): false,
	} {
		if code.Plain() != want {
			t.Errorf("%q: %v", code, !want)
		}
	}
}
