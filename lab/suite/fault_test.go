package suite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/suite"
	"agentlab/lab/yamlfile"
)

const good = `version: 1
surfaces:
  before: {mcp: {command: [b]}}
  after: {mcp: {command: [a]}}
baseline: before
candidate: after
cases: [cases/*.jsonl]
effects: []
`

// instead of one line of the good file.
func with(line int, text string) string {
	lines := strings.SplitAfter(good, "\n")
	lines[line-1] = text + "\n"
	return strings.Join(lines, "")
}

func server(text string) string  { return with(3, "  before: {mcp: "+text+"}") }
func surface(text string) string { return with(3, "  before: "+text) }
func effects(text string) string {
	return with(8, "effects: "+text)
}

func TestFaults(t *testing.T) {
	const durations = "must be a duration with its unit, from 1ms to 10m, such as 10s"
	tests := []struct{ name, text, want string }{
		// The document.
		{"empty", "", "1:1: is empty"},
		{"comments", "# nothing\n\n", "1:1: is empty"},
		{"null", "~", "1:1: must be a mapping, not null"},
		{"a list", "- version: 1", "1:1: must be a mapping, not a list"},
		{"a word", "\n  version", "2:3: must be a mapping, not a string"},
		{"a nothing", "{}", "1:1: cases: missing\n1:1: surfaces: missing\n1:1: version: missing"},
		{"two documents", good + "---\nversion: 1\n", "10:1: a second document begins; a file holds one"},
		{"an end and more", good + "...\nversion: 1\n", "10:1: is not YAML: did not find expected <document start>"},
		{"UTF-8", "version: 1\n# \xff", "2:3: is not UTF-8"},
		{"UTF-16", "\xff\xfev\x00", "1:1: is not UTF-8"},
		{"byte-order mark", "version: 1\n\ufeff", "2:1: a byte-order mark in the middle"},
		{"control character", "version: 1\r\n# é\x1b[31m", "2:4: the control character U+001B"},
		{"tab", with(3, "\tbefore: {mcp: {command: [b]}}"), "3:2: is not YAML: found character that cannot start any token"},
		{"indentation", with(5, " baseline: before"), "5:2: is not YAML: did not find expected key"},
		{"open list", with(7, "cases: [cases/*.jsonl"), "7:1: is not YAML: did not find expected ',' or ']'"},
		{"wrong bracket", with(4, "  after: {mcp: {command: [a}}"), "4:3: is not YAML: did not find expected ',' or ']'"},
		{"open quote", with(5, `baseline: "before`), "5:1: is not YAML: found unexpected end of stream"},
		{"no colon", with(2, "surfaces"), "2:1: is not YAML: could not find expected ':'"},
		{"two colons", with(6, "candidate: after: all"), "6:1: is not YAML: mapping values are not allowed in this context"},
		{"broken JSON", "{\n  \"version\": 1,\n  \"cases\": [}\n", "3:13: is not JSON: invalid character '}' at start of value"},
		{"cut JSON", "{\n  \"version\": 1", "2:15: is not JSON: the document ends too early"},
		{"broken flow", "{version: 1,\n  cases: [}\n", "1:1: is not YAML: did not find expected node content"},
		{"DEL", "version: 1\n# \x7f", "2:3: the control character U+007F"},
		{"C1", "version: 1\n# \u009b", "2:3: the control character U+009B"},
		{"directive", "%YAML 3.0\n---\n" + good, "1:1: is not YAML: found incompatible YAML document"},
		{"deep", strings.Repeat("[", 20_000), "1:1: is not YAML: exceeded max depth of 10000"},
		{"missing anchor", with(7, "cases: [*s3cr3t]"), "7:1: is not YAML: an alias (*) of an anchor that is not there; a string that begins with * is put in quotes"},

		// What YAML can do beyond values.
		{"alias", with(7, "cases: [&one cases/a.jsonl, *one]"),
			"7:9: cases[0]: an anchor (&) is not read; leave it out\n7:29: cases[1]: an alias (*) is not read; write the value out"},
		{"anchored mapping", with(3, "  before: &b {mcp: {command: [b]}}"), "3:11: surfaces.before: an anchor (&) is not read; leave it out"},
		{"alias for a surface", with(3, "  before: &b {mcp: {command: [b]}}\n  later: *b"),
			"3:11: surfaces.before: an anchor (&) is not read; leave it out\n4:10: surfaces.later: an alias (*) is not read; write the value out"},
		{"alias in itself", effects("&e [*e]"), "8:10: effects: an anchor (&) is not read; leave it out"},
		{"anchored key", with(5, "&k baseline: before"), "1:1: baseline: missing: with more than one surface, both baseline and candidate are named\n5:1: an anchor (&) is not read; leave it out"},
		{"merge key", with(3, "  before: {<<: {mcp: {command: [b]}}}"), "3:12: surfaces.before: a merge key (<<) is not read; write the keys out"},
		{"tag", with(5, "baseline: !!str before"), "5:11: baseline: a tag (!) is not read; leave it out"},
		{"own tag", with(3, "  before: !secret {mcp: {command: [b]}}"), "3:11: surfaces.before: a tag (!) is not read; leave it out"},
		{"duplicate key", with(6, "candidate: after\nbaseline: after"), "7:1: baseline: duplicate key, first in line 5"},
		{"duplicate surface", with(4, "  \"before\": {mcp: {command: [a]}}"), "4:3: surfaces.before: duplicate key, first in line 3"},
		{"number as a key", with(3, "  1: {mcp: {command: [b]}}"), "3:3: surfaces: a key must be a string, not a number; put it in quotes"},
		{"null as a key", with(3, "  ~: {mcp: {command: [b]}}"), "3:3: surfaces: a key must be a string, not null"},
		{"list as a key", with(3, "  ? [a]\n  : {mcp: {command: [b]}}"), "3:5: surfaces: a key must be a string, not a list"},

		// Keys.
		{"misspelt", server("{comand: [b]}"), "3:17: surfaces.before.mcp: needs a command or a url\n3:18: surfaces.before.mcp.comand: unknown key; did you mean \"command\"?"},
		{"swapped letters", with(7, "csaes: [cases/*.jsonl]"), "1:1: cases: missing\n7:1: csaes: unknown key; did you mean \"cases\"?"},
		{"capital", with(7, "Cases: [cases/*.jsonl]"), "1:1: cases: missing\n7:1: Cases: unknown key; did you mean \"cases\"?"},
		{"unknown", server("{command: [b], args: []}"), "3:32: surfaces.before.mcp.args: unknown key; the keys are command, env, headers, url"},
		{"odd name", with(8, "effects: []\n\"a b\\u001b\": 1"), "9:1: \"a b\\x1b\": unknown key; the keys are baseline, candidate, cases, effects, isolation, sandbox, surfaces, timeout, version"},
		{"long name", with(8, "effects: []\na"+strings.Repeat("é", 100)+": 1"), "9:1: \"a" + strings.Repeat("é", 39) + "\"...: unknown key; the keys are"},

		// Version.
		{"no version", with(1, ""), "2:1: version: missing"},
		{"later version", with(1, "version: 2"), "1:10: version: must be 1, the version of the format, as a number"},
		{"quoted version", with(1, "version: '1'"), "1:10: version: must be 1, the version of the format, as a number"},
		{"version of nothing", with(1, "version:"), "1:9: version: must be 1, the version of the format, as a number"},

		// Surfaces.
		{"no surfaces", "version: 1\nsurfaces: {}\ncases: [cases/*.jsonl]\neffects: []\n", "2:11: surfaces: must name at least one surface"},
		{"null surfaces", "version: 1\nsurfaces:\ncases: [cases/*.jsonl]\neffects: []\n", "2:10: surfaces: must be a mapping, not null"},
		{"list of surfaces", "version: 1\nsurfaces: [{mcp: {command: [b]}}]\ncases: [cases/*.jsonl]\neffects: []\n", "2:11: surfaces: must be a mapping, not a list"},
		{"null surface", with(3, "  before:"), "3:10: surfaces.before: must be a mapping, such as {mcp: {command: [npx, -y, a-server]}}, not null"},
		{"no server", with(3, "  before: {}"), "3:11: surfaces.before.mcp: missing; in its place, a contract may stand over the server of another surface"},

		// Contracts, and surfaces over others.
		{"contract of nothing", surface("{contract: lab.yaml}"), "3:11: surfaces.before.mcp: missing; a contract stands over mcp, or over surface: NAME"},
		{"contract that is not there", surface("{mcp: {command: [b]}, contract: gone.yaml}"), "3:43: surfaces.before.contract: cannot be read as a file: no such file or directory"},
		{"contract that is a folder", surface("{mcp: {command: [b]}, contract: files}"), "3:43: surfaces.before.contract: is a folder, not a file"},
		{"contract without a name", surface("{mcp: {command: [b]}, contract: ''}"), "3:43: surfaces.before.contract: must be a path, not an empty string"},
		{"contract in the sandbox", surface("{mcp: {command: [b]}, contract: '${SANDBOX}/a'}"), "3:43: surfaces.before.contract: ${SANDBOX} is not known here, but in command"},
		{"two servers", surface("{mcp: {command: [b]}, surface: after, contract: lab.yaml}"), "3:42: surfaces.before.surface: may not stand beside mcp"},
		{"the same again", surface("{surface: after}"), "3:21: surfaces.before.surface: needs a contract beside it: else it is the same surface again"},
		{"over itself", surface("{surface: before, contract: lab.yaml}"), "3:21: surfaces.before.surface: names itself; name the surface that has the server"},
		{"over nothing", surface("{surface: '', contract: lab.yaml}"), "3:21: surfaces.before.surface: must be the name of a surface, not an empty string"},
		{"over a misspelt one", surface("{surface: aftr, contract: lab.yaml}"), `3:21: surfaces.before.surface: no such surface; did you mean "after"?`},
		{"over an unknown one", surface("{surface: x, contract: lab.yaml}\n  third: {mcp: {command: [b]}, contract: lab.yaml}"),
			"3:21: surfaces.before.surface: no such surface; the surfaces with a server and no contract are after"},
		{"over none at all", "version: 1\nsurfaces: {a: {surface: b, contract: lab.yaml}}\ncases: [cases/*.jsonl]\neffects: []\n",
			"2:25: surfaces.a.surface: no such surface"},
		{"over one over one", surface("{surface: third, contract: lab.yaml}\n  third: {surface: after, contract: lab.yaml}"),
			"3:21: surfaces.before.surface: has the server of a surface itself; name that one"},
		{"over each other", surface("{surface: third, contract: lab.yaml}\n  third: {surface: before, contract: lab.yaml}"),
			"3:21: surfaces.before.surface: has the server of a surface itself; name that one\n4:20: surfaces.third.surface: has the server of a surface itself; name that one"},
		{"over a contract", surface("{surface: third, contract: lab.yaml}\n  third: {mcp: {command: [b]}, contract: lab.yaml}"),
			"3:21: surfaces.before.surface: has a contract, and none is laid over another; give the server a surface without one, and name that"},
		{"over one without a server", surface("{surface: third, contract: lab.yaml}\n  third: {}"), "4:10: surfaces.third.mcp: missing"},
		{"over one whose name has a fault", surface("{surface: third, contract: lab.yaml}\n  3: {mcp: {command: [b]}}"), "4:3: surfaces: a key must be a string, not a number"},
		{"over what is not looked at", strings.Replace(surface("{surface: third, contract: lab.yaml}\n  third: {mcp: {command: [b]}}"), "effects: []\n", "", 1),
			"3:11: surfaces.before.effects: missing, here and for the whole suite\n4:10: surfaces.third.effects: missing\n5:10: surfaces.after.effects: missing"},
		{"bad name", with(3, "  be fore: {mcp: {command: [b]}}"), "3:3: surfaces.\"be fore\": must be a name of 1 to 64 letters, digits and . _ -\n5:11: baseline: no such surface"},
		{"long surface", with(3, "  before: {mcp: {command: [b]}}\n  "+strings.Repeat("x", 65)+": {mcp: {command: [b]}}"),
			"4:3: surfaces." + strings.Repeat("x", 65) + ": must be a name of 1 to 64 letters, digits and . _ -"},
		{"empty name", with(3, "  before: {mcp: {command: [b]}}\n  '': {mcp: {command: [b]}}"), "4:3: surfaces.\"\": must be a name of 1 to 64 letters, digits and . _ -"},

		// Baseline and candidate.
		{"unknown baseline", with(5, "baseline: first"), "5:11: baseline: no such surface; the surfaces are after, before"},
		{"misspelt baseline", with(5, "baseline: befor"), "5:11: baseline: no such surface; did you mean \"before\"?"},
		{"no baseline", with(5, ""), "1:1: baseline: missing: with more than one surface, both baseline and candidate are named"},
		{"no candidate", with(6, ""), "1:1: candidate: missing: with more than one surface, both baseline and candidate are named"},
		{"the same", with(6, "candidate: before"), "6:12: candidate: must be another surface than the baseline"},
		{"empty baseline", with(5, "baseline: ''"), "5:11: baseline: must be the name of a surface, not an empty string"},
		{"both empty", strings.Replace(with(5, "baseline: ''"), "candidate: after", "candidate: ''", 1),
			"5:11: baseline: must be the name of a surface, not an empty string\n6:12: candidate: must be the name of a surface, not an empty string"},
		{"null baseline", with(5, "baseline:"), "5:10: baseline: must be a string, not null"},
		{"baseline of one", "version: 1\nsurfaces: {s: {mcp: {command: [b]}}}\nbaseline: s\ncases: [cases/*.jsonl]\neffects: []\n",
			"3:11: baseline: there is only one surface, and nothing to compare it with; leave it out"},
		{"unknown candidate of one", "version: 1\nsurfaces: {s: {mcp: {command: [b]}}}\ncandidate: other\ncases: [cases/*.jsonl]\neffects: []\n",
			"3:12: candidate: no such surface; the surfaces are s"},

		// Servers.
		{"no way", server("{}"), "3:17: surfaces.before.mcp: needs a command or a url"},
		{"two ways", server("{command: [b], url: 'http://a'}"), "3:37: surfaces.before.mcp.url: may not stand beside command"},
		{"headers of a command", server("{command: [b], headers: {}}"), "3:41: surfaces.before.mcp.headers: may only stand beside url"},
		{"env of a url", server("{url: 'http://a', env: {}}"), "3:40: surfaces.before.mcp.env: may only stand beside command"},
		{"one string", server("{command: npx -y a-server}"), "3:27: surfaces.before.mcp.command: must be a list of strings, such as [npx, -y, a-server], not a string"},
		{"no program", server("{command: []}"), "3:27: surfaces.before.mcp.command: must name a program"},
		{"empty program", server("{command: ['${EMPTY}', a]}"), "3:28: surfaces.before.mcp.command[0]: must name a program, not be an empty string"},
		{"number", server("{command: [b, 8931]}"), "3:31: surfaces.before.mcp.command[1]: must be a string, not a number; put it in quotes"},
		{"large number", server("{command: [b, 1e999]}"), "3:31: surfaces.before.mcp.command[1]: must be a string, not a number; put it in quotes"},
		{"boolean", server("{command: [b, true]}"), "3:31: surfaces.before.mcp.command[1]: must be a string, not a boolean; put it in quotes"},
		{"list in a list", server("{command: [[b]]}"), "3:28: surfaces.before.mcp.command[0]: must be a string, not a list"},
		{"NUL", server(`{command: ["b\0"]}`), "3:28: surfaces.before.mcp.command[0]: holds a NUL character"},
		{"NUL of a variable", server(`{command: ["${ZERO}"]}`), "3:28: surfaces.before.mcp.command[0]: holds a NUL character"},
		{"env is a list", server("{command: [b], env: [A=1]}"), "3:37: surfaces.before.mcp.env: must be a mapping, not a list"},
		{"env number", server("{command: [b], env: {PORT: 8931}}"), "3:44: surfaces.before.mcp.env.PORT: must be a string, not a number; put it in quotes"},
		{"env null", server("{command: [b], env: {PORT: }}"), "3:44: surfaces.before.mcp.env.PORT: must be a string, not null"},
		{"env name", server("{command: [b], env: {A=B: c, '': d}}"), "3:38: surfaces.before.mcp.env.\"A=B\": cannot be the name of a variable\n3:46: surfaces.before.mcp.env.\"\": cannot be the name of a variable"},
		{"url", server("{url: 'ws://s3cr3t'}"), "3:23: surfaces.before.mcp.url: must be a URL that begins with http:// or https:// and a host"},
		{"url without a host", server("{url: 'http:///mcp'}"), "3:23: surfaces.before.mcp.url: must be a URL that begins with http:// or https:// and a host"},
		{"url with only a port", server("{url: 'http://:80/'}"), "3:23: surfaces.before.mcp.url: must be a URL that begins with http:// or https:// and a host"},
		{"header of the sandbox", server("{url: 'http://a', headers: {Key: '${SANDBOX}'}}"), "3:50: surfaces.before.mcp.headers.Key: ${SANDBOX} is not known here"},
		{"url that is none", server("{url: 'http://a b'}"), "3:23: surfaces.before.mcp.url: must be a URL that begins with http:// or https:// and a host"},
		{"url with a password", server("{url: 'http://me:s3cr3t@a/'}"), "3:23: surfaces.before.mcp.url: may hold no user and no password; put them in a header"},
		{"url of the sandbox", server("{url: 'http://a/${SANDBOX}'}"), "3:23: surfaces.before.mcp.url: ${SANDBOX} is not known here, but in command, env, call arguments and the paths of effects"},
		{"header name", server("{url: 'http://a', headers: {'A:': b}}"), "3:45: surfaces.before.mcp.headers.\"A:\": cannot be the name of a header"},
		{"header twice", server("{url: 'http://a', headers: {Key: a, KEY: b}}"), "3:53: surfaces.before.mcp.headers.KEY: is the header Key again: case makes no difference"},
		{"header with a line end", server("{url: 'http://a', headers: {Key: '${LINES}'}}"),
			"3:50: surfaces.before.mcp.headers.Key: cannot be the value of a header: it holds a line end or another control character"},

		// Variables.
		{"missing", server("{command: ['${ABSENT} ${GONE}']}"),
			"3:28: surfaces.before.mcp.command[0]: the environment has no ABSENT; ${ABSENT:-default} would give it a default\n" +
				"3:28: surfaces.before.mcp.command[0]: the environment has no GONE; ${GONE:-default} would give it a default"},
		{"open", server("{command: ['a ${TOKEN']}"), "3:28: surfaces.before.mcp.command[0]: a ${ is not closed; $${ writes ${ as it is"},
		{"of another shell", server("{command: ['${TOKEN:?}', '${env:TOKEN}', '${}', '${1}', '${A-b}']}"), strings.Join([]string{
			"3:28: surfaces.before.mcp.command[0]: a variable is written ${NAME} or ${NAME:-default}; $${ writes ${ as it is",
			"3:42: surfaces.before.mcp.command[1]: a variable is written ${NAME} or ${NAME:-default}; $${ writes ${ as it is",
			"3:58: surfaces.before.mcp.command[2]: a variable is written ${NAME} or ${NAME:-default}; $${ writes ${ as it is",
			"3:65: surfaces.before.mcp.command[3]: a variable is written ${NAME} or ${NAME:-default}; $${ writes ${ as it is",
			"3:73: surfaces.before.mcp.command[4]: a variable is written ${NAME} or ${NAME:-default}; $${ writes ${ as it is",
		}, "\n")},
		{"variable in a default", server("{command: ['${GONE:-${TOKEN}}']}"), "3:28: surfaces.before.mcp.command[0]: the default of ${GONE} may hold no variable"},
		{"sandbox with a default", server("{command: [b, '${SANDBOX:-x}']}"), "3:31: surfaces.before.mcp.command[1]: ${SANDBOX} has no default"},
		{"sandbox by value", server("{command: [b, '${BOX}']}"), "3:31: surfaces.before.mcp.command[1]: what it is expanded to holds ${SANDBOX}, which only the file may name"},
		{"sandbox as text", server("{command: [b, '$${SANDBOX}']}"), "3:31: surfaces.before.mcp.command[1]: what it is expanded to holds ${SANDBOX}, which only the file may name"},
		{"sandbox in pieces", server("{command: [b, '${HALF}BOX}']}"), "3:31: surfaces.before.mcp.command[1]: what it is expanded to holds ${SANDBOX}, which only the file may name"},
		{"not UTF-8", server("{command: [b, '${LATIN}']}"), "3:31: surfaces.before.mcp.command[1]: the value of LATIN is not UTF-8"},

		// Cases.
		{"no cases", with(7, "cases: []"), "7:8: cases: must name at least one file"},
		{"one path", with(7, "cases: cases/*.jsonl"), "7:8: cases: must be a list of paths, such as [cases/*.jsonl], not a string"},
		{"null cases", with(7, "cases:"), "7:7: cases: must be a list of paths, such as [cases/*.jsonl], not null"},
		{"no match", with(7, "cases: [cases/*.yaml, cases/old.jsonl/*]"), "7:9: cases[0]: no such file matches the pattern"},
		{"no file", with(7, "cases: [cases/z.jsonl]"), "7:9: cases[0]: no such file"},
		{"folder", with(7, "cases: [cases]"), "7:9: cases[0]: is a folder; name its files, such as *.jsonl in it"},
		{"two stars", with(7, "cases: ['**/*.jsonl']"), "7:9: cases[0]: ** is not known; * stands for a part of one name"},
		{"bad pattern", with(7, "cases: ['cases/[a']"), "7:9: cases[0]: is not a pattern: a [ is not closed, or is empty"},
		{"empty path", with(7, "cases: ['']"), "7:9: cases[0]: must be a path, not an empty string"},
		{"sandbox of cases", with(7, "cases: ['${SANDBOX}/a']"), "7:9: cases[0]: ${SANDBOX} is not known here, but in command, env, call arguments and the paths of effects"},

		// The sandbox.
		{"no seed", with(8, "effects: []\nsandbox: {seed: nowhere}"), "9:17: sandbox.seed: cannot be read as a folder: no such file or directory"},
		{"seed is a file", with(8, "effects: []\nsandbox: {seed: files/note.txt}"), "9:17: sandbox.seed: is not a folder"},
		{"empty seed", with(8, "effects: []\nsandbox: {seed: ''}"), "9:17: sandbox.seed: must be a folder, not an empty string"},
		{"seed in the sandbox", with(8, "effects: []\nsandbox: {seed: '${SANDBOX}'}"), "9:17: sandbox.seed: ${SANDBOX} is not known here, but in command, env, call arguments and the paths of effects"},
		{"sandbox is a string", with(8, "effects: []\nsandbox: files"), "9:10: sandbox: must be a mapping, such as {seed: a-folder}, not a string"},
		{"null sandbox", with(8, "effects: []\nsandbox:"), "9:9: sandbox: must be a mapping, such as {seed: a-folder}, not null"},
		{"sandbox of a surface", with(3, "  before: {mcp: {command: [b]}, sandbox: {seeds: files}}"), "3:43: surfaces.before.sandbox.seeds: unknown key; did you mean \"seed\"?"},

		// Effects.
		{"no effects", with(8, ""), "3:11: surfaces.before.effects: missing, here and for the whole suite: it says how side effects are counted, and [] counts none\n" +
			"4:10: surfaces.after.effects: missing, here and for the whole suite: it says how side effects are counted, and [] counts none"},
		{"no effects of what is no surface", strings.Replace(with(8, ""), "{mcp: {command: [b]}}", "[]", 1), "3:11: surfaces.before: must be a mapping, such as {mcp: {command: [npx, -y, a-server]}}, not a list\n" +
			"4:10: surfaces.after.effects: missing"},
		{"null effects", effects(""), `8:9: effects: must be a mapping, such as {directory: "${SANDBOX}"}, or a list of mappings, not null`},
		{"effects of a flag", effects("dir:files"), `8:10: effects: must be a mapping, such as {directory: "${SANDBOX}"}, or a list of mappings, not a string`},
		{"empty effect", effects("[{}]"), "8:11: effects[0]: must have one of the keys directory, sqlite, call, http, command"},
		{"unknown effect", effects("{directories: x}"), "8:11: effects.directories: unknown key; the keys are call, command, directory, http, sqlite"},
		{"near effect", effects("[{sqlit: x}]"), "8:12: effects[0].sqlit: unknown key; did you mean \"sqlite\"?"},
		{"null path", effects("{directory: }"), "8:22: effects.directory: must be a string, not null"},
		{"empty directory", effects("{directory: ''}"), "8:22: effects.directory: must be a path, not an empty string"},
		{"no path", effects("{directory: {ignore: []}}"), "8:22: effects.directory.path: missing"},
		{"bad ignore", effects("{directory: {path: a, ignore: ['[', '', 1]}}"),
			"8:41: effects.directory.ignore[0]: is not a pattern: a [ or { is not closed or is empty, or there is nothing but a slash\n8:46: effects.directory.ignore[1]: must be a pattern, not an empty string\n8:50: effects.directory.ignore[2]: must be a string, not a number; put it in quotes"},
		{"ignore of nothing", effects("{directory: {path: a, ignore: ['/', '{a', 'b/**']}}"),
			"8:41: effects.directory.ignore[0]: is not a pattern: a [ or { is not closed or is empty, or there is nothing but a slash\n8:46: effects.directory.ignore[1]: is not a pattern: a [ or { is not closed or is empty, or there is nothing but a slash"},
		{"ignore of one", effects("{directory: {path: a, ignore: '*.log'}}"), "8:40: effects.directory.ignore: must be a list of patterns, such as [\"*.log\"], not a string"},
		{"sandbox in the middle", effects("{sqlite: 'a/${SANDBOX}'}"), "8:19: effects.sqlite: ${SANDBOX} may only be the first folder of a path"},
		{"sandbox and more", effects("{sqlite: '${SANDBOX}x'}"), "8:19: effects.sqlite: ${SANDBOX} may only be the first folder of a path"},
		{"sandbox twice", effects("{sqlite: '${SANDBOX}/${SANDBOX}'}"), "8:19: effects.sqlite: ${SANDBOX} may only be the first folder of a path"},
		{"no tool", effects("{call: {}}"), "8:17: effects.call.tool: missing"},
		{"call by name", effects("{call: read_graph}"), "8:17: effects.call: must be a mapping, such as {tool: list_items}, not a string"},
		{"server of a call", effects("{call: {tool: a, server: {command: [], url: 'http://a'}}}"), "8:45: effects.call.server.command: must name a program\n8:54: effects.call.server.url: may not stand beside command"},
		{"arguments", effects("{call: {tool: a, arguments: [1]}}"), "8:38: effects.call.arguments: must be a mapping, not a list"},
		{"argument keys", effects("{call: {tool: a, arguments: {1: a, b: {'${SANDBOX}': 1, c: 1, c: 2}}}}"),
			"8:39: effects.call.arguments: a key must be a string, not a number; put it in quotes\n" +
				"8:49: effects.call.arguments.b.\"${SANDBOX}\": variables are not expanded in keys\n8:72: effects.call.arguments.b.c: duplicate key, first in line 8"},
		{"argument numbers", effects("{call: {tool: a, arguments: {a: [0x10, .inf, 1_000, +1, 010]}}}"),
			"8:43: effects.call.arguments.a[0]: is not how JSON writes a number; put it in quotes if it is a string\n" +
				"8:49: effects.call.arguments.a[1]: is not how JSON writes a number; put it in quotes if it is a string\n" +
				"8:55: effects.call.arguments.a[2]: is not how JSON writes a number; put it in quotes if it is a string\n" +
				"8:62: effects.call.arguments.a[3]: is not how JSON writes a number; put it in quotes if it is a string\n" +
				"8:66: effects.call.arguments.a[4]: is not how JSON writes a number; put it in quotes if it is a string"},
		{"argument too long", effects("{call: {tool: a, arguments: {a: 1e401}}}"), "8:38: effects.call.arguments: cannot be sent as JSON: a number with an exponent beyond ±400"},
		{"argument too deep", effects("{call: {tool: a, arguments: {a: " + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "}}}"), "8:105: effects.call.arguments.a" + strings.Repeat("[0]", 63) + ": nested deeper than 64 levels"},
		{"argument alias", effects("{call: {tool: a, arguments: {a: &a {b: *a}}}}"), "8:42: effects.call.arguments.a: an anchor (&) is not read; leave it out"},
		{"argument variable", effects("{call: {tool: a, arguments: {a: '${GONE}'}}}"), "8:42: effects.call.arguments.a: the environment has no GONE"},
		{"http of the sandbox", effects("{http: 'http://a/${SANDBOX}'}"), "8:17: effects.http: ${SANDBOX} is not known here"},
		{"http without a url", effects("{http: {headers: {}}}"), "8:17: effects.http.url: missing"},
		{"command as a string", effects("{command: cat x}"), "8:20: effects.command: must be a list of strings, such as [npx, -y, a-server], not a string"},
		{"effects of a surface", with(3, "  before: {mcp: {command: [b]}, effects: [{http: x}]}"), "3:50: surfaces.before.effects[0].http: must be a URL that begins"},

		// Isolation and timeout.
		{"isolation", with(8, "effects: []\nisolation: none"), "9:12: isolation: must be \"case\" or \"suite\""},
		{"isolation of nothing", with(8, "effects: []\nisolation:"), "9:11: isolation: must be a string, not null"},
		{"timeout without a unit", with(8, "effects: []\ntimeout: 10"), "9:10: timeout: " + durations},
		{"quoted timeout", with(8, "effects: []\ntimeout: '10'"), "9:10: timeout: " + durations},
		{"short timeout", with(8, "effects: []\ntimeout: 999us"), "9:10: timeout: " + durations},
		{"long timeout", with(8, "effects: []\ntimeout: 10m1ms"), "9:10: timeout: " + durations},
		{"no duration", with(8, "effects: []\ntimeout: soon"), "9:10: timeout: " + durations},
		{"negative timeout", with(8, "effects: []\ntimeout: -1s"), "9:10: timeout: " + durations},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, got := read(t, tt.text)
			want := strings.Split(tt.want, "\n")
			for i, line := range strings.Split(got, "\n") {
				if i >= len(want) || !strings.HasPrefix(line, "lab.yaml:"+want[i]) {
					t.Fatalf("faults:\n%s\nwant:\n%s", got, tt.want)
				}
			}
			if strings.Count(got, "\n") != strings.Count(tt.want, "\n") || got == "" {
				t.Errorf("faults:\n%s\nwant:\n%s", got, tt.want)
			}
			if strings.Contains(got, "s3cr3t") {
				t.Errorf("a secret is told:\n%s", got)
			}
		})
	}
}

func TestGoodFilesOfTheFaultTests(t *testing.T) {
	for _, text := range []string{good, server("{url: 'http://a'}"), effects("{directory: x}"),
		good + "timeout: 1ms\n", good + "timeout: 10m\n"} {
		if _, faults := read(t, text); faults != "" {
			t.Errorf("%s\n%s", text, faults)
		}
	}
}

func TestFaultIsOneOfMany(t *testing.T) {
	var text strings.Builder
	text.WriteString(with(8, "effects:"))
	for range 60 {
		text.WriteString("- {}\n")
	}
	text.WriteString("zzzzz: 1\n")
	_, file := folder(t, text.String())
	_, err := suite.Read(file, someVariables.lookup)
	var invalid *yamlfile.Invalid
	if !errors.As(err, &invalid) {
		t.Fatal(err)
	}
	if len(invalid.Faults) != yamlfile.MaxFaults || invalid.Total != 61 {
		t.Errorf("%d faults of %d", len(invalid.Faults), invalid.Total)
	}
	want := yamlfile.Fault{File: file, Line: 9, Column: 3, Field: "effects[0]", Reason: "must have one of the keys directory, sqlite, call, http, command"}
	if diff := cmp.Diff(want, invalid.Faults[0]); diff != "" {
		t.Error(diff)
	}
	if !strings.HasSuffix(err.Error(), "\nand 11 more") {
		t.Error(err)
	}
}

// What is large is refused.
func TestBounds(t *testing.T) {
	if _, faults := read(t, good+"#"+strings.Repeat("x", yamlfile.MaxFile-len(good)-1)); faults != "" {
		t.Error(faults)
	}
	if _, faults := read(t, good+"#"+strings.Repeat("x", yamlfile.MaxFile-len(good))); faults != "lab.yaml:1:1: is longer than 1 MiB" {
		t.Error(faults)
	}

	// Many variables, each of them long.
	text := server("{command: [b" + strings.Repeat(", '${LONG}'", 10_000) + "]}")
	file := filepath.Join(t.TempDir(), "lab.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("s3cr3t", 20_000)
	_, err := suite.Read(file, func(string) (string, bool) { return long, true })
	if err == nil || strings.Count(err.Error(), "the variables of the file expand to more than 4 MiB") != 1 || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("%.200v", err)
	}
	text = server("{command: ['" + strings.Repeat("${LONG}", 100_000) + "']}")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = suite.Read(file, func(string) (string, bool) { return long, true })
	if err == nil || !strings.Contains(err.Error(), "the variables of the file expand to more than 4 MiB") {
		t.Errorf("%.200v", err)
	}

	// An early mistake is found without reading what comes after it.
	if _, faults := read(t, "a: 1\nb: 1\n c: 1\n"+strings.Repeat("d: 1\n", 30_000)); !strings.HasPrefix(faults, "lab.yaml:3:2: is not YAML: ") {
		t.Error(faults)
	}

	for name, text := range map[string]string{
		"nine aliases of nine aliases": bomb(),
		"a mistake at the end":         strings.Repeat("a: 1\n", 50_000) + "]",
		"unclosed":                     strings.Repeat("a: [\n", 12_000),
		"a late mistake in a list":     "a: [\n" + strings.Repeat("1,\n", 20_000) + "}",
		"commented":                    strings.Repeat("a: # b\n# c\n", 10_000),
	} {
		if _, faults := read(t, text); faults == "" {
			t.Errorf("%s: no fault", name)
		}
	}
}

func bomb() string {
	var b strings.Builder
	b.WriteString("version: 1\na0: &a0 [x]\n")
	for i := range 9 {
		fmt.Fprintf(&b, "a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 8), i)
	}
	b.WriteString("surfaces: *a9\n")
	return b.String()
}
