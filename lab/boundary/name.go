package boundary

import (
	"strconv"
	"strings"
	"unicode"
)

// sandbox stands for the fresh folder of a case, and standIn for what a tool
// would see there. They are equally long, so that lengths hold for both.
const (
	sandbox = "${SANDBOX}"
	standIn = "/sandboxes"
)

// hints are what the last word of a property's name says of a text. Only what
// keeps a call harmless is guessed.
var hints = map[string]string{
	"path": file, "paths": file, "file": file, "files": file, "filename": file, "filepath": file, "filenames": file, "filepaths": file,
	"source": file, "src": file, "target": copied, "destination": copied, "dest": copied, "dst": copied,
	"dir": sandbox, "dirs": sandbox, "directory": sandbox, "directories": sandbox, "folder": sandbox, "folders": sandbox,
	"root": sandbox, "roots": sandbox, "cwd": sandbox, "workdir": sandbox, "workspace": sandbox,

	"url": address, "urls": address, "uri": address, "uris": address, "endpoint": address, "link": address, "href": address,
	"email": mailbox, "emails": mailbox,
}

const (
	file    = sandbox + "/example.txt"
	copied  = sandbox + "/example-copy.txt"
	address = "https://example.test/"
	mailbox = "someone@example.test"
	word    = "example"
)

// hint returns a text for a property of that name, or nothing.
func hint(name string) string {
	words := wordsOf(name)
	if len(words) == 0 {
		return ""
	}
	return hints[words[len(words)-1]]
}

// NamesPath reports whether a property of that name is taken for a path of a file or
// a folder.
func NamesPath(name string) bool { return strings.HasPrefix(hint(name), sandbox) }

// rehearses reports whether a flag of that name asks for a call without
// effects.
func rehearses(name string) bool {
	words := wordsOf(name)
	return len(words) > 0 && (words[0] == "dry" || words[0] == "dryrun" || words[0] == "preview" || words[0] == "simulate")
}

// wordsOf splits a name in snake_case, kebab-case or camelCase.
func wordsOf(name string) []string {
	var spaced strings.Builder
	lower := false
	for _, r := range name[:min(len(name), 200)] {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r, lower = ' ', false
		case unicode.IsUpper(r):
			if lower {
				spaced.WriteByte(' ')
			}
			lower = false
		default:
			lower = true
		}
		spaced.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(spaced.String())
}

// numbered makes one text into several: before a file's ending where it has
// one, else at the end.
func numbered(value string, salt int) string {
	if salt == 0 {
		return value
	}
	number := "-" + strconv.Itoa(salt+1)
	switch {
	case value == mailbox:
		return "someone" + number + "@example.test"
	case value == sandbox:
		return sandbox + "/example" + number
	}
	if stem, ok := strings.CutSuffix(value, ".txt"); ok {
		return stem + number + ".txt"
	}
	if strings.HasSuffix(value, "/") {
		return value + number[1:]
	}
	return value + number
}

// clip shortens a text for a message.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// quote writes a name that came from a server: as it is where that is plain,
// else so that nothing in it acts.
func quote(name string) string {
	if name != "" && strings.Trim(name, plainLetters+"/") == "" {
		return name
	}
	return strconv.Quote(name)
}

const plainLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
