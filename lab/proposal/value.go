package proposal

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// value is one JSON value at its place in the text: text[start:end]. The text
// around it has passed checkJSON.
type value struct {
	text       []byte
	start, end int
}

// valueIn is the value that text[start:end] holds between white space.
func valueIn(text []byte, start, end int) value {
	return value{text, skipSpace(text, start), start + len(bytes.TrimRight(text[start:end], " \t\r\n"))}
}

func (v value) raw() jsontext.Value { return v.text[v.start:v.end] }
func (v value) kind() jsontext.Kind { return v.raw().Kind() }

// kindName says what kind of value it is, with its article.
func (v value) kindName() string {
	switch v.kind() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	default:
		return "a boolean"
	}
}

// decoded is the text of a string.
func (v value) decoded() []byte {
	// checkJSON has refused every string that cannot be unquoted.
	text, _ := jsontext.AppendUnquote(nil, v.raw())
	return text
}

// str is the text of a value that must be a string. The name tells it in a
// fault.
func (v value) str(name string) (string, error) {
	if v.kind() != '"' {
		return "", fault(v.start, "%s must be a string, not %s", name, v.kindName())
	}
	return string(v.decoded()), nil
}

// list is the items of a value that must be an array.
func (v value) list(name string) ([]value, error) {
	if v.kind() != '[' {
		return nil, fault(v.start, "%s must be an array, not %s", name, v.kindName())
	}
	var items []value
	err := v.each(func(item value, _ int, _ string) { items = append(items, item) })
	return items, err
}

// only is the one item of a value that must be an array of one.
func (v value) only(name string) (value, error) {
	items, err := v.list(name)
	if err != nil {
		return value{}, err
	}
	if len(items) == 0 {
		return value{}, fault(v.start, "%s is empty", name)
	}
	if len(items) > 1 {
		return value{}, fault(items[1].start, "%s has more than one item: which one is meant is not said", name)
	}
	return items[0], nil
}

// object is a JSON object and its members in their order.
type object struct {
	value
	members []member
}

type member struct {
	name  string
	at    int // where the name begins
	value value
}

// object is the members of a value that must be an object.
func (v value) object(name string) (object, error) {
	if v.kind() != '{' {
		return object{}, fault(v.start, "%s must be an object, not %s", name, v.kindName())
	}
	o := object{value: v}
	err := v.each(func(item value, at int, name string) { o.members = append(o.members, member{name, at, item}) })
	return o, err
}

var tokenizers = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// each calls visit with each value directly in an array or object; in an
// object also with its name and where that begins.
func (v value) each(visit func(item value, at int, name string)) error {
	tokens := tokenizers.Get().(*jsontext.Decoder)
	tokens.Reset(bytes.NewBuffer(v.raw()))
	defer func() {
		tokens.Reset(&bytes.Buffer{}) // let go of the text
		tokenizers.Put(tokens)
	}()
	if _, err := tokens.ReadToken(); err != nil {
		return unexpected(v, err)
	}
	inObject := v.kind() == '{'
	for tokens.PeekKind() != '}' && tokens.PeekKind() != ']' {
		var at int
		var name string
		if inObject {
			quoted, err := tokens.ReadValue()
			if err != nil {
				return unexpected(v, err)
			}
			at = v.start + int(tokens.InputOffset()) - len(quoted)
			name = string(value{quoted, 0, len(quoted)}.decoded())
		}
		raw, err := tokens.ReadValue()
		if err != nil {
			return unexpected(v, err)
		}
		end := v.start + int(tokens.InputOffset())
		visit(value{v.text, end - len(raw), end}, at, name)
	}
	return nil
}

// unexpected is the fault where the tokenizer refuses a value that checkJSON
// let pass.
func unexpected(v value, err error) error {
	var syntax *jsonvalue.SyntaxError
	if errors.As(jsonvalue.Syntax(err), &syntax) {
		return fault(v.start+int(syntax.Offset), "%s", syntax.Reason)
	}
	return fault(v.start, "%v", err)
}

// get is a member, and whether there is one.
func (o object) get(name string) (value, bool) {
	for _, m := range o.members {
		if m.name == name {
			return m.value, true
		}
	}
	return value{}, false
}

// set is a member that is there and not null, as an optional one is absent in
// what some SDKs write.
func (o object) set(name string) (value, bool) {
	v, ok := o.get(name)
	return v, ok && v.kind() != 'n'
}

// need is a member that must be there.
func (o object) need(name string) (value, error) {
	v, ok := o.get(name)
	if !ok {
		return value{}, fault(o.start, "%s is missing", name)
	}
	return v, nil
}

// needString is a member that must be there and be a string.
func (o object) needString(name string) (string, error) {
	v, err := o.need(name)
	if err != nil {
		return "", err
	}
	return v.str(name)
}

// needConstant refuses an object where a member is not this string.
func (o object) needConstant(name, constant string) error {
	text, err := o.needString(name)
	if err == nil && text != constant {
		v, _ := o.get(name)
		return fault(v.start, "%s must be %q", name, constant)
	}
	return err
}

// is reports whether a member is this string.
func (o object) is(name, constant string) bool {
	v, ok := o.get(name)
	return ok && v.kind() == '"' && string(v.decoded()) == constant
}

// has reports whether a member is there and of a kind.
func (o object) has(name string, kind jsontext.Kind) bool {
	v, ok := o.get(name)
	return ok && v.kind() == kind
}

// needEnd refuses an output of which a member says that it ended early: a
// call in it can be partial and still be JSON.
func (o object) needEnd(name string, early func(reason string) bool) error {
	v, ok := o.set(name)
	if !ok {
		return nil
	}
	reason, err := v.str(name)
	if err != nil {
		return err
	}
	if early(reason) {
		return fault(v.start, "the output ended early, as %s says", name)
	}
	return nil
}

// toolName is the name of a call.
func (o object) toolName() (string, error) {
	name, err := o.needString("name")
	if err == nil && name == "" {
		v, _ := o.get("name")
		return "", fault(v.start, "name is empty")
	}
	return name, err
}

// proposal is the call of an object that has a name and arguments, in a member
// and as read by a function.
func (o object) proposal(member string, read func(value, string) (json.RawMessage, error)) (tool.Proposal, error) {
	name, err := o.toolName()
	if err != nil {
		return tool.Proposal{}, err
	}
	v, err := o.need(member)
	if err != nil {
		return tool.Proposal{}, err
	}
	arguments, err := read(v, member)
	return tool.Proposal{Name: name, Arguments: arguments}, err
}

// proposalOrBare is the same where the format documents that a call without
// arguments may leave the member out.
func (o object) proposalOrBare(member string) (tool.Proposal, error) {
	if _, ok := o.get(member); ok {
		return o.proposal(member, value.embedded)
	}
	name, err := o.toolName()
	return tool.Proposal{Name: name, Arguments: json.RawMessage("{}")}, err
}

// embedded is arguments that are an object in the document.
func (v value) embedded(name string) (json.RawMessage, error) {
	if v.kind() != '{' {
		return nil, fault(v.start, "%s must be an object, not %s", name, v.kindName())
	}
	return json.RawMessage(bytes.Clone(v.raw())), nil
}

// encoded is arguments that are a JSON document in a string.
func (v value) encoded(name string) (json.RawMessage, error) {
	if v.kind() != '"' {
		return nil, fault(v.start, "%s must be a string that holds an object, not %s", name, v.kindName())
	}
	text := v.decoded()
	if len(text) == 0 {
		return nil, fault(v.start, "%s is an empty string, not an object", name)
	}
	outer := func(offset int) int { return v.start + spelledAt(v.raw(), offset) }
	if err := checkJSON(text); err != nil {
		var inner *Malformed
		if errors.As(err, &inner) {
			return nil, fault(outer(inner.Offset), "in %s: %s", name, inner.Reason)
		}
		return nil, err
	}
	if inner := valueIn(text, 0, len(text)); inner.kind() != '{' {
		return nil, fault(outer(inner.start), "%s must hold an object, not %s", name, inner.kindName())
	}
	return json.RawMessage(text), nil
}

// spelledAt returns where in a quoted string the byte is spelled that has an
// offset in the decoded string. The end of the one is the closing quote of the
// other.
func spelledAt(quoted []byte, offset int) int {
	at := 1
	for at < len(quoted)-1 {
		length, size := spelling(quoted[at:])
		if offset < size {
			break
		}
		offset -= size
		at += length
	}
	return at
}

// spelling returns the bytes that the first character of a valid string takes
// as spelled, and those that it takes decoded. Beyond ASCII a character that
// is not escaped is taken byte by byte.
func spelling(quoted []byte) (length, size int) {
	if quoted[0] != '\\' {
		return 1, 1
	}
	if quoted[1] != 'u' {
		return 2, 1
	}
	// The string is valid: four hex digits follow, and two halves make a pair.
	unit, _ := strconv.ParseUint(string(quoted[2:6]), 16, 16)
	if utf16.IsSurrogate(rune(unit)) {
		return 12, 4
	}
	return 6, utf8.RuneLen(rune(unit))
}
