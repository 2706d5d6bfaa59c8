package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/report"
	"agentlab/lab/scan"
)

// hostileScan is a scan of a server that writes what a terminal or Markdown obeys.
func hostileScan() *scan.Report {
	const evil = "a\x1b[2J|`<b>[x](http://evil.invalid)\u202e"
	return &scan.Report{
		Server: "server",
		Tools: []scan.Tool{
			{Name: evil, Why: "the server says that it only reads", Called: true, Calls: 3, Plain: scan.Failed, Invalid: 2, Accepted: 1, Largest: 17, Unlooked: []string{"its pages: " + evil}},
			{Name: "left", Why: "nobody says what it does", Plain: scan.NotMade, Unlooked: []string{}},
		},
		Findings: []scan.Finding{
			{Code: scan.ProtocolBroken, Severity: scan.Warning, Says: "It says " + evil},
			{Code: scan.InvalidAccepted, Severity: scan.Error, Tool: evil, Says: "It carried out a call " + evil, Calls: 1, Of: 2, Arguments: json.RawMessage(`{"a":"\u001b"}`), Answer: evil},
			{Code: scan.NoAnswer, Severity: scan.Error, Tool: "left", Says: "The server did not answer.", Calls: 2, Arguments: json.RawMessage(`{}`)},
			{Code: scan.ReadChanged, Severity: scan.Error, Tool: "left", Says: "It changed something at its end.", Calls: 1},
		},
		Unlooked: []string{"what calls change"},
	}
}

func TestScan(t *testing.T) {
	r := hostileScan()
	for name, write := range map[string]func(*bytes.Buffer) error{
		"text":     func(b *bytes.Buffer) error { return report.ScanText(b, r) },
		"markdown": func(b *bytes.Buffer) error { return report.ScanMarkdown(b, r) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if strings.ContainsAny(text, "\x1b\u202e") {
			t.Errorf("%s: a terminal obeys\n%q", name, text)
		}
		for _, want := range []string{"1 of 2 tools called, 3 calls, 3 errors and 1 warning", "1 of 2 such calls", "2 calls", "what calls change", "nobody says what it does", `its pages: a\u001b`, "no answer"} {
			unescaped := strings.NewReplacer(`\\u`, `\u`, `\_`, `_`).Replace(text)
			if want == "no answer" {
				want = "no_answer"
			}
			if !strings.Contains(unescaped, want) {
				t.Errorf("%s does not hold %q:\n%s", name, want, text)
			}
		}
		if name == "markdown" && strings.Contains(strings.ReplaceAll(text, "`", ""), "\n<b>") {
			t.Errorf("markup gets through:\n%s", text)
		}
	}
	var out bytes.Buffer
	if err := report.ScanJSON(&out, r); err != nil {
		t.Fatal(err)
	}
	if found := violations(t, compiled(t, report.ScanSchema), out.Bytes()); found != nil {
		t.Errorf("the JSON breaks its schema: %v", found)
	}
	var back scan.Report
	if err := json.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Findings[1].Answer, back.Findings[1].Answer); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestScanOfNothing(t *testing.T) {
	r := &scan.Report{Server: "server", Tools: []scan.Tool{}, Findings: []scan.Finding{}, Unlooked: []string{}}
	var text, page, document bytes.Buffer
	if report.ScanText(&text, r) != nil || report.ScanMarkdown(&page, r) != nil || report.ScanJSON(&document, r) != nil {
		t.Fatal("it cannot be written")
	}
	const want = "server: 0 of 0 tools called, 0 calls, 0 errors and 0 warnings\n"
	if !strings.HasPrefix(text.String(), want) || strings.Contains(text.String(), "│") || strings.Contains(page.String(), "## ") {
		t.Errorf("%s\n%s", text.String(), page.String())
	}
	if found := violations(t, compiled(t, report.ScanSchema), document.Bytes()); found != nil {
		t.Errorf("the JSON breaks its schema: %v", found)
	}
}

// TestScanAlike: what holds of ten thousand tools is one line for a person.
func TestScanAlike(t *testing.T) {
	const late = "what more calls would show: the time was up"
	of := func(n int) string {
		r := &scan.Report{Server: "server", Findings: []scan.Finding{}, Unlooked: []string{}}
		for i := range n {
			r.Tools = append(r.Tools, scan.Tool{Name: fmt.Sprintf("t%02d", i), Unlooked: []string{late}})
		}
		var text bytes.Buffer
		if err := report.ScanText(&text, r); err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
	if text := of(10); strings.Count(text, late) != 10 || !strings.Contains(text, "  t09: "+late) {
		t.Errorf("ten tools:\n%s", text)
	}
	if text := of(11); strings.Count(text, late) != 1 || !strings.Contains(text, "  t00, t01, t02 and 8 more tools: "+late) {
		t.Errorf("eleven tools:\n%s", text)
	}
}
