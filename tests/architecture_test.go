package tests

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// rooms is the plan of the house: what each room may import of this project,
// and which libraries it keeps to itself. A reason stands with every row.
var rooms = []struct {
	room    string
	imports string // of this project, directly
	reason  string
}{
	{"lab/tool", "", "the vocabulary stands on nothing"},
	{"lab/jsonvalue", "", "one reading of JSON, for everyone above"},
	{"lab/spelling", "", "words are compared, whatever they are for"},
	{"lab/schema", "lab/tool lab/jsonvalue lab/spelling", "violations are vocabulary, numbers are exact; a property that a schema lacks may be a misspelt one"},
	{"lab/contract", "lab/tool lab/jsonvalue", "a definition and its runtime; the registry compiles the schemas"},
	{"lab/process", "", "a child knows nothing of what it is for"},
	{"lab/probe", "lab/tool lab/jsonvalue lab/process", "effects are vocabulary; a command is looked at through its output"},
	{"lab/receipt", "lab/tool", "a receipt keeps an answer"},
	{"lab/registry", "lab/tool lab/jsonvalue lab/schema lab/contract lab/receipt", "the controls"},
	{"lab/mcp", "lab/tool lab/jsonvalue lab/schema lab/contract lab/process", "servers answer over a wire and are started as processes; the output schemas that they promise are checked"},
	{"lab/ticket", "lab/tool lab/jsonvalue lab/contract lab/receipt lab/registry", "the demo backend and its surfaces"},
	{"lab/dataset", "lab/tool lab/jsonvalue lab/spelling", "cases are vocabulary; evidence does not know the runtime; a field that is unknown may be a misspelt one"},
	{"lab/proposal", "lab/tool lab/jsonvalue", "reading what a model put out needs no runtime"},
	{"lab/eval", "lab/tool lab/jsonvalue lab/proposal lab/dataset", "surfaces come in through interfaces; a case may hold a model's output"},
	{"lab/stream", "lab/tool lab/jsonvalue lab/dataset lab/eval", "the results of an eval, written down and read again"},
	{"lab/stats", "lab/tool lab/dataset lab/eval", "calls are counted in runs as they are read; a model's output is read for its call"},
	{"lab/report", "lab/tool lab/jsonvalue lab/dataset lab/eval lab/stream lab/stats lab/mutation lab/scan lab/schedule", "rendering judges nothing; every report can be made of the stream alone; a kill matrix is rendered too, and what came of schedules"},
	{"lab/report/github", "lab/tool lab/eval lab/report", "two formats over the finished stream; why a run failed is said in lab/report"},
	{"lab/report/junit", "lab/tool lab/eval lab/report", "a format over the finished stream; why a run failed is said in lab/report"},
	{"lab/report/otel", "lab/tool lab/jsonvalue lab/dataset lab/eval lab/report", "a format over the finished stream; arguments are redacted, and a model's output is read for its call"},
	{"lab/report/sarif", "lab/tool lab/eval lab/report", "a format over the finished stream; why a run failed is said in lab/report"},
	{"lab/report/reporttest", "lab/tool lab/dataset lab/eval lab/stream", "tests of the formats are given streams and hostile texts"},
	{"lab/report/terminal", "lab/tool lab/dataset lab/eval lab/stream lab/report", "a run of the stream for a person's eyes; why text is shown as it is is said in lab/report"},
	{"lab/yamlfile", "lab/jsonvalue lab/spelling", "it knows how files are written down and no format; what is wanted as JSON is JSON; a key that is unknown may be a misspelt one"},
	{"lab/suite", "lab/jsonvalue lab/yamlfile", "it says what is to be done and does nothing; arguments are JSON"},
	{"lab/overlay", "lab/tool lab/jsonvalue lab/schema lab/contract lab/yamlfile", "a contract file over the definitions of a server makes contracts; nothing is called"},
	{"lab/governed", "lab/tool lab/jsonvalue lab/contract lab/overlay lab/registry lab/yamlfile", "a registry stands before tools by the contracts that were laid over them, whatever surface they are of; a folder of a contract may begin with the variable of the sandbox"},
	{"lab/pin", "lab/tool lab/jsonvalue", "a lock holds what definitions say, by its canonical form; what the tools do is not its matter"},
	{"lab/boundary", "lab/tool lab/jsonvalue lab/schema", "calls are derived from definitions, and checked before they are handed out"},
	{"lab/mutation", "lab/tool lab/jsonvalue lab/spelling lab/contract lab/receipt lab/registry lab/proposal lab/dataset lab/eval lab/yamlfile", "its subject is the registry with its contracts and receipts, which are schemas and arguments too; cases are replayed on it as on any surface; a misspelt name is taken for the nearest; waivers are written by hand"},
	{"lab/schedule", "lab/tool lab/jsonvalue lab/contract lab/receipt lab/registry", "its subject is the registry and its contracts, one step of a call at a time; it stands before the store of receipts"},
	{"datasets", "", "it only embeds"},
	{"lab/sandbox", "lab/tool lab/jsonvalue lab/mcp lab/pin lab/probe lab/process lab/suite", "a server, a folder and probes make a surface as a suite says; what is listed later is compared with what was first"},
	{"cmd/lab", "datasets lab/tool lab/dataset lab/eval lab/stream lab/stats lab/report lab/report/junit lab/report/otel lab/report/sarif lab/report/github lab/contract lab/registry lab/ticket lab/suite lab/yamlfile lab/sandbox lab/overlay lab/governed lab/pin lab/boundary lab/process lab/mutation lab/generate lab/scan lab/shrink lab/spelling lab/schedule lab/report/terminal", "evidence and runtime meet here"},
	{"lab/generate", "lab/tool lab/jsonvalue lab/schema lab/contract lab/registry lab/dataset lab/boundary", "cases follow from contracts and from calls that cases know to succeed; a variant of a surface shows what an answer was before it was cut down"},
	{"lab/shrink", "lab/jsonvalue lab/dataset", "a smaller case is a case, as the dataset says; who fails it comes in"},
	{"lab/scan", "lab/tool lab/jsonvalue lab/schema lab/boundary", "calls are made of definitions, on sessions that come in; what is found is data"},
	{"tests/bench", "tests/casegen", "it times the command from outside"},
	{"tests/faultserver", "", "its faults are below the level of everything that it tests"},
	{"tests/faultserver/cmd", "tests/faultserver", "to try it by hand"},
	{"tests/mcp", "", "it runs the command on other people's servers, from outside"},
	{"tests/planted", "", "it breaks the controls in a copy of the command, and reads their list from outside"},
	{"tests/casegen", "datasets", "it multiplies what is shipped"},
	{"tests", "", "tests of the whole house"},
}

// kept are libraries that the named rooms know and no other.
var kept = []struct{ library, rooms, reason string }{
	{"github.com/spf13/cobra", "cmd/lab", "only the command line knows commands"},
	{"github.com/xeipuuv/gojsonschema", "lab/schema", "it is not safe without the check before it"},
	{"github.com/santhosh-tekuri/jsonschema", "lab/schema", "it loads, compares and recurses without a bound"},
	{"github.com/gowebpki/jcs", "lab/jsonvalue", "one canonical form"},
	{"github.com/olekukonko/tablewriter", "lab/report", "tables are a format"},
	{"github.com/mattn/go-isatty", "cmd/lab", "only the command line knows terminals"},
	{"golang.org/x/term", "cmd/lab", "only the command line knows terminals"},
	{"github.com/fatih/color", "lab/report/terminal", "colour is told by who knows that there is a terminal"},
	{"github.com/clipperhouse/displaywidth", "lab/report/terminal", "columns are counted where text is laid out"},
	{"os/exec", "lab/process tests/bench tests/faultserver", "what is started is ended with everything that it started; the benchmark times a command"},
	{"github.com/modelcontextprotocol/go-sdk", "lab/mcp", "answers are taken as they stood on the wire, which the SDK does not hand on"},
	{"net/http", "lab/mcp lab/probe tests/faultserver", "the lab dials nobody but the servers that it is told, and where their state is told"},
	{"go.yaml.in/yaml/v3", "lab/yamlfile", "YAML is what people write; everything else is JSON"},
	{"modernc.org/sqlite", "lab/receipt lab/probe", "one room keeps receipts in it, the other looks at a server's database"},
	{"github.com/bmatcuk/doublestar/v4", "lab/probe lab/suite", "patterns of files are used where files are looked at, and checked where they are written down"},
}

const module = "agentlab/"

type goPackage struct {
	ImportPath string
	Imports    []string
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-pgo=off", "-deps", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(p.ImportPath, module) {
			packages = append(packages, p)
		}
	}
	return packages
}

func TestRoomsImportWhatThePlanSays(t *testing.T) {
	packages := listPackages(t)
	if len(packages) < 10 {
		t.Fatalf("only %d packages were listed", len(packages))
	}
	seen := make(map[string]bool)
	for i, r := range rooms {
		if slices.ContainsFunc(rooms[:i], func(earlier struct{ room, imports, reason string }) bool { return earlier.room == r.room }) {
			t.Errorf("the plan has two rows for %s", r.room)
		}
	}
	for _, p := range packages {
		room := strings.TrimPrefix(p.ImportPath, module)
		seen[room] = true
		at := slices.IndexFunc(rooms, func(r struct{ room, imports, reason string }) bool { return r.room == room })
		if at < 0 {
			t.Errorf("%s is not in the plan of the house", room)
			continue
		}
		allowed := strings.Fields(rooms[at].imports)
		for _, imported := range p.Imports {
			if name, ours := strings.CutPrefix(imported, module); ours && !slices.Contains(allowed, name) {
				t.Errorf("%s imports %s; it may not: %s", room, name, rooms[at].reason)
			}
			for _, k := range kept {
				if !slices.Contains(strings.Fields(k.rooms), room) && (imported == k.library || strings.HasPrefix(imported, k.library+"/")) {
					t.Errorf("%s imports %s, which belongs to %q: %s", room, imported, k.rooms, k.reason)
				}
			}
		}
		for _, name := range allowed {
			if !slices.Contains(p.Imports, module+name) {
				t.Errorf("%s no longer imports %s; take it off the plan", room, name)
			}
		}
	}
	for _, r := range rooms {
		if !seen[r.room] {
			t.Errorf("the plan names %s, which does not exist", r.room)
		}
	}
}
