package report

import (
	"encoding/json"
	"strings"
	"time"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/tool"
)

// hostile are texts that break out of what they are put into, where nobody
// escapes them.
var hostile = []string{
	"plain",
	"",
	" ",
	"   ",
	" led by a space",
	"followed by two spaces  ",
	"a|b",
	`a\|b`,
	`a\\|b`,
	"|",
	"||||||",
	`\`,
	`ends in a backslash\`,
	"a`b",
	"`",
	"``a```b`",
	"` `",
	" ` ",
	"`code`",
	"two\nlines",
	"a\r\nb",
	"\n\n# heading\n\n| a | b |\n| --- | --- |\n",
	"line\u2028separator\u2029paragraph\u0085next",
	"tab\tbell\adelete\x7fnull\x00",
	"<b>bold</b>",
	"<script>alert(1)</script>",
	"<!-- comment -->",
	"</td></table>",
	"a < b & c > d &amp; &lt; &#60; &copy;",
	"<https://example.com>",
	"https://example.com/path?q=1",
	"HTTP://EXAMPLE.COM and ftp://example.com",
	"www.example.com and WWW.Example.com",
	"ticket@example.com",
	"mailto:ticket@example.com",
	"@someone",
	"[link](https://example.com)",
	"![image](https://example.com/x.png)",
	"[reference]",
	"[reference]: https://example.com",
	"[^1]",
	"# heading",
	"###### heading #",
	"heading\n===",
	"- item",
	"+ item",
	"* item",
	"-",
	"1. item",
	"123) item",
	"1.",
	"- [ ] task",
	"> quote",
	"    indented",
	"```",
	"~~~ fence",
	"---",
	"***",
	"===",
	"_emphasis_ *emphasis* __strong__ **strong** ***both***",
	"~~struck~~",
	"snake_case_words",
	"$x$ and $$y$$",
	":smile:",
	"\x1b[31mred\x1b[0m\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\",
	"\u009b31mred",
	"turned \u202eround\u202c and \u2066isolated\u2069 and \u200fmarked",
	"zero\u200bwidth\u200djoiner\ufeffmark",
	"tag \U000e0041\U000e007f",
	"emoji 🎫 family 👨‍👩‍👧 flag 🇩🇪",
	"日本語のチケット",
	"e\u0301 and é",
	"not \xff UTF-8 \xc3\x28 at \xe2\x82 all",
	"\xff",
	`"quoted" \"escaped\" \u0000`,
	strings.Repeat("`", 300) + "|" + strings.Repeat("\\", 301) + "|",
	strings.Repeat("long ", 500),
}

// hostileRun is a run in which every text that can come from a dataset, a tool
// or a server is s, and the last result a failure.
func hostileRun(s string) *eval.Run {
	quoted := jsonText(s)
	code := s
	return &eval.Run{
		Strategy: s,
		Case: &dataset.Case{
			ID: s, Intent: s, Expected: dataset.Expectation{ErrorCode: &code},
			Baseline: []dataset.Proposal{{Name: s, Arguments: hostileObject(s)}},
		},
		SideEffects: 2,
		Steps: []eval.Step{
			{
				SideEffects: 2,
				Result: tool.Result{
					Output:   json.RawMessage(`{` + quoted + `:[` + quoted + `,1e400,12345678901234567890123456789.5,-0,{}],"another key":null}`),
					Replayed: true,
					Trace: tool.Trace{
						Decisions:   []tool.Decision{{Control: "lookup", Verdict: tool.Pass}, {Control: "approval", Verdict: tool.Skip}},
						HandlerRan:  true,
						Fingerprint: "sha256:" + strings.Repeat("0a", 32),
					},
				},
			},
			{
				Result: tool.Result{
					Error: &tool.Error{
						Code: tool.Code(s), Category: tool.Category(s), Message: s, Retryable: true,
						Details: hostileObject(s), NextAction: s, Outcome: tool.Unknown,
					},
					Trace: tool.Trace{
						Decisions: []tool.Decision{{Control: "lookup", Verdict: tool.Refuse, Code: tool.Code(s)}},
					},
				},
			},
		},
		Grades: []eval.Grade{
			{Name: "ok", Passed: true, Expected: json.RawMessage("false"), Actual: json.RawMessage("false")},
			{Name: "error_code", Expected: json.RawMessage(jsonText("not " + s)), Actual: json.RawMessage(quoted)},
		},
	}
}

// stagedRun is the same of a case that is staged.
func stagedRun(s string) *eval.Run {
	run := hostileRun(s)
	run.Case.Stage = new(dataset.Stage)
	run.State, run.Receipts = run.Steps[0].Output, json.RawMessage(`[]`)
	first, last := &run.Steps[0], run.Last()
	first.ReplacedBy, first.Took, first.Trace.Fault = s, 1500*time.Microsecond, s
	last.Attempts = []eval.Attempt{
		{Result: last.Result, Next: tool.NextStep{Action: tool.Action(s), Wait: time.Second, Reason: s}},
		{Result: first.Result, Next: tool.NextStep{Action: tool.Proceed}},
	}
	return run
}

// hostileObject has s for its key and its value.
func hostileObject(s string) json.RawMessage {
	return json.RawMessage(`{` + jsonText(s) + `:` + jsonText(s) + `}`)
}

// jsonText is s as encoding/json writes it.
func jsonText(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// decodedText is what encoding/json makes of s: each byte that is no UTF-8
// becomes U+FFFD.
func decodedText(s string) string {
	var decoded string
	if err := json.Unmarshal([]byte(jsonText(s)), &decoded); err != nil {
		panic(err)
	}
	return decoded
}
