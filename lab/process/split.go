package process

import (
	"errors"
	"strings"
)

// Split splits a command line into words as a POSIX shell does: at blanks, with
// single quotes, double quotes and backslashes. Nothing else is special: no
// variable, pattern, comment or operator is, since no shell will run it. A
// quote that is not closed, or a backslash at the end, is an error.
func Split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		case '\\':
			i++
			if i == len(line) {
				return nil, errors.New("the command line ends in a backslash")
			}
			if line[i] != '\n' { // which both continue the line
				word.WriteByte(line[i])
				inWord = true
			}
		case '\'':
			length := strings.IndexByte(line[i+1:], '\'')
			if length < 0 {
				return nil, errors.New("the command line has a ' that is not closed")
			}
			word.WriteString(line[i+1 : i+1+length])
			i += 1 + length
			inWord = true
		case '"':
			inWord = true
			for i++; ; i++ {
				if i >= len(line) {
					return nil, errors.New(`the command line has a " that is not closed`)
				}
				if line[i] == '"' {
					break
				}
				if line[i] == '\\' && i+1 < len(line) && strings.IndexByte("$`\"\\\n", line[i+1]) >= 0 {
					i++
					if line[i] == '\n' {
						continue
					}
				}
				word.WriteByte(line[i])
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
