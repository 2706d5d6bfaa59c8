package yamlfile

import (
	"fmt"
	"strings"
)

// Text reads a string and expands its variables.
func (r *Reader) Text(p Place, sandbox SandboxUse) (string, bool) {
	if !r.Plain(p) {
		return "", false
	}
	if k := p.Kind(); k != String {
		r.Fault(p, "must be a string, not "+string(k)+k.quoting())
		return "", false
	}
	text, ok := r.expand(p, sandbox)
	if ok && strings.Contains(text, "\x00") {
		r.Fault(p, "holds a NUL character")
		return "", false
	}
	return text, ok
}

// Filled reads a string that is not empty, which is what the words call it.
func (r *Reader) Filled(p Place, words string) (string, bool) {
	text, ok := r.Text(p, WithoutSandbox)
	if ok && text == "" {
		r.Fault(p, "must be "+words+", not an empty string")
		return "", false
	}
	return text, ok
}

// expand expands the variables of a string and keeps account of their size.
func (r *Reader) expand(p Place, sandbox SandboxUse) (string, bool) {
	if r.full {
		return "", false
	}
	text, wrong := expand(p.node.Value, r.Env, sandbox, r.SandboxIn)
	for _, reason := range wrong {
		r.Fault(p, reason)
	}
	if r.expanded += len(text); r.expanded > MaxExpanded {
		r.full = true
		r.Fault(p, fmt.Sprintf("the variables of the file expand to more than %d MiB", MaxExpanded>>20))
		return "", false
	}
	return text, len(wrong) == 0
}
