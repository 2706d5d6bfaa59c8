// Package sarif renders failed runs as SARIF 2.1.0, which code scanning reads: a
// result a failed run, at the line of the dataset that holds its case.
//
// Start with [New].
//
// One invariant: the document satisfies the official schema, and the fingerprint of
// a result is the same as long as the same case fails the same graders on the same
// surface, wherever its line moves.
//
// A run that could not run has no result: it is told as a notification of the tool.
// A case that is still to do is not told. What fails on the baseline is a note, as
// the gate is the candidate's.
package sarif

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"strconv"
	"strings"

	"agentlab/lab/eval"
	"agentlab/lab/report"
	"agentlab/lab/tool"
)

const (
	// MaxResults is how many results GitHub takes of one run; an upload with more is
	// rejected whole. Of these it shows the 5,000 that weigh most.
	MaxResults = 25000
	// maxTold is how many runs that could not run are told one by one.
	maxTold = eval.MaxTold
	// maxMessage is how many bytes of a message are shown.
	maxMessage = 8000
)

// fingerprint names what the fingerprints are made of, and which making it is.
const fingerprint = "agentlabRun/v1"

// Options say what a document cannot know by itself.
type Options struct {
	// Locate says where a file of the dataset is found, from the root of the
	// repository; "" where it is not in it. Nil takes its name for that.
	Locate func(file string) string
}

// Report is a document that is being written. Of the runs it holds counts, the first
// that could not run, and the rules.
type Report struct {
	out           *bufio.Writer
	comparison    *eval.Comparison
	options       Options
	limit         int // of results
	results       int
	left          int // results that are over the limit
	notifications []notification
	lost          int
	rules         []rule
	indexes       map[string]int // of rules, by their id
}

// New starts a document of a comparison, to which its pairs are added in order.
func New(w io.Writer, c *eval.Comparison, o Options) *Report {
	r := &Report{out: bufio.NewWriterSize(w, 64<<10), comparison: c, options: o, limit: MaxResults, indexes: make(map[string]int)}
	r.out.WriteString("{\n\"$schema\": \"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json\",\n" +
		"\"version\": \"2.1.0\",\n\"runs\": [{\n\"columnKind\": \"unicodeCodePoints\",\n\"results\": [")
	return r
}

// Add adds the runs of a case.
func (r *Report) Add(pair *eval.Pair) error {
	for _, run := range pair.Runs() {
		switch {
		case run.Case.Todo != "":
		case run.Unavailable != nil:
			if r.lost++; r.lost <= maxTold {
				r.notifications = append(r.notifications, notification{
					Level:     "error",
					Message:   message{shown(run.Strategy + ": " + run.Case.ID + " could not run: " + run.Unavailable.Reason)},
					Locations: r.locations(pair),
				})
			}
		case !run.Passed:
			if r.results == r.limit {
				r.left++
				continue
			}
			if err := r.add(pair, run); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Report) add(pair *eval.Pair, run *eval.Run) error {
	failed := report.FailedGraders(run)
	one := result{
		Kind: "fail", Level: "error",
		Message:      message{shown(run.Strategy+": "+run.Case.ID+" failed: "+strings.Join(failed, ", ")) + "\n" + unlinked(tool.Cut(report.Explain(pair, run), maxMessage))},
		Locations:    r.locations(pair),
		Fingerprints: map[string]string{fingerprint: hashed(run, failed)},
	}
	if run == pair.Baseline {
		one.Level = "note"
	}
	one.RuleID, one.RuleIndex = r.rule(run, failed)
	text, err := json.Marshal(one)
	if err != nil {
		return err
	}
	if r.results > 0 {
		r.out.WriteByte(',')
	}
	r.results++
	r.out.WriteByte('\n')
	_, err = r.out.Write(text)
	return err
}

// rule is the control that had to end a run, or else the first grader that failed.
func (r *Report) rule(run *eval.Run, failed []string) (string, int) {
	id, text := "", ""
	if control := report.DueControl(run); control != "" {
		id, text = "control/"+control, "The "+control+" control answers a call as the case expects."
	} else {
		id, text = "grader/"+failed[0], "What a run came to is what the case expects: "+failed[0]+"."
	}
	at, known := r.indexes[id]
	if !known {
		at = len(r.rules)
		r.indexes[id] = at
		r.rules = append(r.rules, rule{ID: id, ShortDescription: message{text}})
	}
	return id, at
}

// locations are empty where the file is not in the repository.
func (r *Report) locations(pair *eval.Pair) []location {
	file := pair.File
	if r.options.Locate != nil {
		file = r.options.Locate(file)
	}
	if file == "" {
		return []location{}
	}
	address := url.URL{Path: strings.ToValidUTF8(file, "\uFFFD")}
	at := location{}
	at.Physical.Artifact.URI = address.String()
	if !strings.HasPrefix(file, "/") {
		at.Physical.Artifact.Base = "SRCROOT"
	} else {
		at.Physical.Artifact.URI = address.EscapedPath()
	}
	at.Physical.Region.Line = max(pair.Line, 1)
	return []location{at}
}

// Close ends the document.
func (r *Report) Close() error {
	if more := r.lost - len(r.notifications); more > 0 {
		r.note(report.Counted(more, "more run") + " could not run; all of them are in tool-runs.jsonl.")
	}
	if r.left > 0 {
		r.note(report.Counted(r.left, "more run") + " failed, over the limit of " + strconv.Itoa(r.limit) + " results; all of them are in tool-runs.jsonl.")
	}
	end := tail{
		Tool:        driver{driverOf{Name: "lab", Version: eval.Version, SemanticVersion: eval.Version, Rules: r.rules}},
		Invocations: []invocation{{Successful: r.lost == 0, Notifications: r.notifications}},
	}
	if end.Tool.Driver.Rules == nil {
		end.Tool.Driver.Rules = []rule{}
	}
	if end.Invocations[0].Notifications == nil {
		end.Invocations[0].Notifications = []notification{}
	}
	text, err := json.MarshalIndent(end, "", "  ")
	if err != nil {
		return err
	}
	r.out.WriteString("\n],\n")
	r.out.Write(text[len("{\n") : len(text)-len("\n}")])
	r.out.WriteString("\n}]\n}\n")
	return r.out.Flush()
}

func (r *Report) note(text string) {
	r.notifications = append(r.notifications, notification{Level: "note", Message: message{text}, Locations: []location{}})
}

// shown is a text of a line.
func shown(s string) string { return unlinked(tool.Cut(report.Visible(s), maxMessage)) }

// unlinked parts what a viewer would make a link of (SARIF 2.1.0, 3.11.6).
func unlinked(s string) string { return strings.ReplaceAll(s, "](", "] (") }

// hashed tells apart the surfaces, cases and graders of results.
func hashed(run *eval.Run, failed []string) string {
	hash := sha256.New()
	for _, part := range append([]string{run.Strategy, run.Case.ID}, failed...) {
		io.WriteString(hash, strconv.Itoa(len(part))+":"+part)
	}
	return hex.EncodeToString(hash.Sum(nil))
}
