package yamlfile

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// SandboxVariable stands for the folder that a server may write in. It is not a
// variable of the environment, and is left in what was read for whoever makes the
// folder.
const SandboxVariable = "${SANDBOX}"

const sandboxName = "SANDBOX"

// SandboxUse says whether a value may hold [SandboxVariable].
type SandboxUse bool

const (
	WithSandbox    SandboxUse = true
	WithoutSandbox SandboxUse = false
)

// MaxExpanded is how long all values of a file may be together, in bytes.
const MaxExpanded = 4 << 20

var variable = Grammar(`^\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

// expand replaces the variables of a text, once. It returns what is wrong with
// the text, without ever telling a value.
func expand(text string, env func(string) (string, bool), sandbox SandboxUse, sandboxIn string) (string, []string) {
	var out strings.Builder
	var wrong []string
	sandboxes := 0
	for {
		before, rest, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			break
		}
		text = "$" + rest
		if literal, escaped := strings.CutPrefix(text, "$${"); escaped {
			out.WriteString("${")
			text = literal
			continue
		}
		if !strings.HasPrefix(text, "${") {
			out.WriteByte('$')
			text = rest
			continue
		}
		end := strings.IndexByte(text, '}') + 1
		if end == 0 {
			wrong = append(wrong, "a ${ is not closed; $${ writes ${ as it is")
			break
		}
		parts := variable().FindStringSubmatch(text[:end])
		text = text[end:]
		switch {
		case parts == nil:
			wrong = append(wrong, "a variable is written ${NAME} or ${NAME:-default}; $${ writes ${ as it is")
		case strings.Contains(parts[2], "${"):
			wrong = append(wrong, fmt.Sprintf("the default of ${%s} may hold no variable", parts[1]))
		case parts[1] != sandboxName:
			value, reason := lookup(parts[1], parts[2], env)
			if reason != "" {
				wrong = append(wrong, reason)
			}
			out.WriteString(value)
		case parts[2] != "":
			wrong = append(wrong, "${SANDBOX} has no default")
		case sandbox == WithoutSandbox:
			wrong = append(wrong, "${SANDBOX} is not known here"+elsewhere(sandboxIn))
		default:
			sandboxes++
			out.WriteString(SandboxVariable)
		}
		if out.Len() > MaxExpanded {
			break
		}
	}
	// Whoever replaces SandboxVariable later cannot tell a literal one.
	if len(wrong) == 0 && strings.Count(out.String(), SandboxVariable) != sandboxes {
		wrong = append(wrong, "what it is expanded to holds ${SANDBOX}, which only the file may name")
	}
	return out.String(), wrong
}

func elsewhere(sandboxIn string) string {
	if sandboxIn == "" {
		return ""
	}
	return ", but in " + sandboxIn
}

// lookup returns the value of a variable, or its default where the variable is
// missing or empty, as a shell does.
func lookup(name, fallback string, env func(string) (string, bool)) (value, reason string) {
	value, set := env(name)
	switch {
	case (!set || value == "") && fallback != "":
		return strings.TrimPrefix(fallback, ":-"), ""
	case !set:
		return "", fmt.Sprintf("the environment has no %s; ${%s:-default} would give it a default", name, name)
	case !utf8.ValidString(value):
		return "", fmt.Sprintf("the value of %s is not UTF-8", name)
	}
	return value, ""
}
