package suite

import "agentlab/lab/yamlfile"

// reader turns a document into a suite or a server.
type reader struct{ yamlfile.Reader }

type (
	place        = yamlfile.Place
	table[T any] = yamlfile.Table[*reader, T]
	lookup       = func(name string) (value string, set bool)
)

// sandboxIn is where a suite knows the sandbox.
const sandboxIn = "command, env, call arguments and the paths of effects"

// newReader is a reader of the lab's own file.
func newReader(file, folder string, env lookup) *reader {
	return &reader{yamlfile.Reader{File: file, Folder: folder, Env: env, SandboxIn: sandboxIn}}
}

// newClientReader is a reader of a client's file.
func newClientReader(file string, env lookup) *reader {
	return &reader{yamlfile.Reader{File: file, Env: env, SandboxIn: sandboxIn, Foreign: true}}
}
