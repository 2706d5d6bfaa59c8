package faultserver

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Fault is one switch that is on.
type Fault struct {
	Name string
	Arg  string
	// Call is the number of the tools/call at which it happens, from 1; 0 is
	// always. With Onward it happens at every later call too.
	Call   int
	Onward bool
}

// Known are all faults. Those "at a call" happen at every call unless they are
// given a number; those of HTTP happen at every request unless they are.
var Known = []struct{ Name, Does string }{
	// A process, from its start to its end.
	{"exit-at-start", "writes the argument to stderr and exits 7"},
	{"slow-start", "waits ARG ms before it reads anything"},
	{"greet", "writes the line ARG to stdout before anything else"},
	{"bom", "begins its stdout with a byte order mark"},
	{"crlf", "ends its lines with CR LF"},
	{"blank-lines", "writes an empty line before every message"},
	{"flood-stderr", "writes ARG MB to stderr at the start, or at a call"},
	{"ticking", "writes the note clock anew every ARG ms"},
	{"child", "starts a process that sleeps in its process group; ARG pipes: with its stdin, stdout and stderr"},
	{"daemon", "starts a process that sleeps in a session of its own; ARG as for child"},
	{"ignore-sigterm", "ignores SIGTERM and SIGINT, and so do its children"},
	{"ignore-eof", "goes on living when its stdin ends"},
	{"save-at-eof", "keeps the notes that it writes in memory, and saves them when its stdin ends"},
	{"write-at-eof", "writes the note at-eof when its stdin ends"},
	{"exit-code", "exits with ARG when its stdin ends"},

	// The handshake.
	{"never-initialize", "does not answer initialize"},
	{"exit-at-initialize", "writes the argument to stderr and exits 7 when asked to initialize"},
	{"initialize-error", "answers initialize with an error"},
	{"protocol-version", "answers initialize with version ARG"},
	{"no-tools", "has no tools capability, and no tools"},
	{"modern", "answers server/discover as of 2026-07-28; ARG only: and refuses initialize"},
	{"ignore-discover", "does not answer server/discover"},

	// The list of tools.
	{"pages", "lists its tools in ARG pages"},
	{"repeat-cursor", "lists its tools for ever, with the same cursor"},
	{"new-cursors", "lists its tools for ever, with ever new cursors"},
	{"many-tools", "lists ARG tools more"},
	{"duplicate-tools", "lists write_note twice, with two descriptions"},
	{"bad-schema", "lists the tool bad_schema, whose inputSchema is no schema"},
	{"bad-output-schema", "lists the tool bad_output_schema, whose outputSchema is no schema"},
	{"remote-ref", "lists the tool remote_ref, whose inputSchema refers to http://127.0.0.1:1/"},
	{"no-schema", "lists the tool no_schema, which has no inputSchema"},
	{"null-tools", "lists null"},
	{"list-hang", "does not answer tools/list"},
	{"list-error", "answers tools/list with an error"},
	{"lie", "says of write_note, append_note and delete_note that they only read"},
	{"describe", "describes write_note with the text ARG"},
	{"input-schema", "gives write_note the inputSchema ARG, which is JSON"},

	// Tools that are listed only then.
	{"slow-write", "lists slow_write, which writes a note and answers after its argument ms"},
	{"silent-write", "lists silent_write, which writes a note and never answers"},
	{"failing-write", "lists failing_write, which writes a note and answers with an error"},
	{"failing-text", "lists failing_text, which answers with a success whose text is an error"},
	{"lost-update", "lists lost_update, which reads a note, waits ARG ms, and writes it with a line more"},

	// A call.
	{"exit-at-call", "exits 7 in the middle of a call; ARG after: when the call was carried out; stderr text after a second colon"},
	{"hang", "does not answer a call; ARG after: but carries it out"},
	{"late", "answers a call ARG ms late, even where it was cancelled"},
	{"close-stdout", "closes its stdout in the middle of a call and lives on"},
	{"text-at-call", "writes the line ARG to stdout before the answer"},
	{"flood-progress", "sends ARG MB of progress notifications before the answer; 0: for ever"},
	{"flood-log", "sends ARG MB of log notifications before the answer; 0: for ever"},
	{"list-changed", "sends notifications/tools/list_changed before the answer, and has a tool more from then on"},
	{"ask", "sends the request ARG to the client, and answers when that is answered"},
	{"page-repeats", "begins every page of list_notes but the first with the last item of the one before"},
	{"page-misses", "leaves an item out between two pages of list_notes"},
	{"page-endless", "gives a cursor with the last page of list_notes, too"},
	{"limit-ignored", "lists all notes, whatever the limit of list_notes says"},
	{"forget-keys", "does not look whether an idempotency_key was used"},
	{"write-twice", "carries a call out twice"},
	{"rpc-error", "answers a call with the JSON-RPC error of code ARG"},
	{"null-result", "answers a call with the result null"},
	{"empty-result", "answers a call with the result {}"},
	{"wrong-content", "answers a call with content that is a string"},
	{"unknown-block", "answers a call with a content block of a type that does not exist"},
	{"error-text", "answers a call with isError and the text ARG"},
	{"error-with-output", "adds isError to an answer with structuredContent"},
	{"break-output-schema", "answers add with a sum that is a string"},
	{"no-output", "leaves out the structuredContent that an outputSchema promises"},
	{"no-jsonrpc", "leaves out the member jsonrpc"},
	{"result-and-error", "answers with both a result and an error"},
	{"escape-codes", "answers a call with a text block of terminal escapes"},
	{"bad-utf8", "answers a call with bytes that are not UTF-8"},
	{"deep", "answers a call with structuredContent nested ARG deep"},
	{"duplicate-keys", "answers a call with structuredContent whose member k is there twice"},
	{"garble", "answers a call with what is not JSON"},
	{"wrong-id", "answers a call with an id that nobody asked with"},
	{"string-id", "answers a call with its id as a string"},
	{"duplicate", "answers a call twice"},
	{"huge", "answers a call with a message of ARG MB"},
	{"endless", "answers a call with a message that never ends"},
	{"batch", "answers a call in a batch of one"},
	{"split", "writes an answer in two parts, ARG ms apart"},
	{"pretty", "answers a call with JSON over many lines"},

	// HTTP alone.
	{"status", "answers with the status ARG and a body"},
	{"redirect", "redirects to the URL ARG with 307"},
	{"redirect-same", "redirects to another path of itself with 307, which works"},
	{"redirect-loop", "redirects to itself for ever"},
	{"html", "answers 200 with a page of HTML"},
	{"content-type", "answers with the content type ARG"},
	{"cut", "closes the connection in the middle of a body"},
	{"slow-headers", "waits ARG ms before it answers"},
	{"sse", "answers with server-sent events"},
	{"sse-prime", "begins a stream of events with one of an id and no data, as revision 2025-11-25 has it"},
	{"sse-endless", "answers with events that never end and are no answer"},
	{"token", "answers 401 unless the request bears the token ARG"},
	{"no-session", "gives no session id"},
	{"drop-session", "forgets the session at a call: 404 until initialize"},
	{"no-get", "answers GET with 405"},
	{"get-end", "ends the stream of a GET at once"},
	{"get-list-changed", "sends notifications/tools/list_changed to a GET"},
	{"get-flood", "sends ARG MB of log notifications to a GET; 0: for ever"},
}

// ParseFault reads NAME[:ARGUMENT][@CALL[+]].
func ParseFault(text string) (Fault, error) {
	var f Fault
	rest := text
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		number, onward := strings.CutSuffix(rest[at+1:], "+")
		if n, err := strconv.Atoi(number); err == nil && n > 0 {
			f.Call, f.Onward, rest = n, onward, rest[:at]
		}
	}
	f.Name, f.Arg, _ = strings.Cut(rest, ":")
	for _, k := range Known {
		if k.Name == f.Name {
			return f, nil
		}
	}
	return Fault{}, fmt.Errorf("no fault is called %q", f.Name)
}

// Faults reads several, and panics where one is unknown: a test is wrong then.
func Faults(texts ...string) []Fault {
	faults := make([]Fault, len(texts))
	for i, text := range texts {
		f, err := ParseFault(text)
		if err != nil {
			panic(err)
		}
		faults[i] = f
	}
	return faults
}

func (f Fault) at(number int) bool {
	return f.Call == 0 || f.Call == number || f.Onward && number > f.Call
}

// number reads the argument, or gives what stands for none.
func (f Fault) number(otherwise int) int {
	if n, err := strconv.Atoi(f.Arg); err == nil {
		return n
	}
	return otherwise
}

func (f Fault) wait(otherwise int) time.Duration {
	return time.Duration(f.number(otherwise)) * time.Millisecond
}

func (f Fault) text(otherwise string) string {
	if f.Arg == "" {
		return otherwise
	}
	return f.Arg
}
