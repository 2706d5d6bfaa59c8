package schema

import (
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"time"
)

// formats are the formats that are checked, each by its own grammar, by both
// engines. A format that is not here is refused in a schema of our own: a text
// must not seem to be checked when nothing looks at it.
var formats = map[string]func(string) bool{
	"date-time":             isDateTime,     // RFC 3339, 5.6
	"date":                  isDate,         // full-date
	"time":                  isTime,         // full-time
	"email":                 isEmail,        // RFC 5321, 4.1.2, Mailbox
	"hostname":              isHostname,     // RFC 1123, 2.1
	"ipv4":                  isIPv4,         // RFC 2673, 3.2
	"ipv6":                  isIPv6,         // RFC 4291, 2.2
	"uri":                   isURI,          // RFC 3986, 3
	"uri-reference":         isURIReference, // RFC 3986, 4.1
	"uuid":                  matches(uuidText),
	"json-pointer":          matches(pointerText),         // RFC 6901, 3
	"relative-json-pointer": matches(relativePointerText), // draft-handrews-relative-json-pointer-01
}

// grammar compiles a pattern when it is first needed: most programs need few
// of them, and all of them cost as much as the rest of a short run's start.
func grammar(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

func matches(pattern func() *regexp.Regexp) func(string) bool {
	return func(s string) bool { return pattern().MatchString(s) }
}

var (
	dateText            = grammar(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	timeText            = grammar(`^([0-9]{2}:[0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[Zz]|[+-]([0-9]{2}):([0-9]{2}))$`)
	uuidText            = grammar(`^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)
	pointerText         = grammar(`^(?:/(?:[^~/]|~[01])*)*$`)
	relativePointerText = grammar(`^(?:0|[1-9][0-9]*)(?:#|(?:/(?:[^~/]|~[01])*)*)$`)
	labelText           = grammar(`^[0-9A-Za-z](?:[0-9A-Za-z-]*[0-9A-Za-z])?$`)
	localText           = grammar("^(?:[0-9A-Za-z!#$%&'*+/=?^_`{|}~-]+(?:\\.[0-9A-Za-z!#$%&'*+/=?^_`{|}~-]+)*" +
		`|"(?:[ !#-\[\]-~]|\\[ -~])*")$`)

	// The groups: scheme, authority, path, query, fragment (RFC 3986, B).
	uriText       = grammar(`^(?:([A-Za-z][0-9A-Za-z+.-]*):)?(//[^/?#]*)?([^?#]*)(\?[^#]*)?(#.*)?$`)
	authorityText = grammar(`^//(?:(?:[0-9A-Za-z._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?` +
		`(\[[^\]]*\]|(?:[0-9A-Za-z._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?$`)
	futureText = grammar(`^[Vv][0-9A-Fa-f]+\.[0-9A-Za-z._~!$&'()*+,;=:-]+$`)
	pathText   = grammar(`^(?:[0-9A-Za-z._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*$`)
	tailText   = grammar(`^(?:[0-9A-Za-z._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*$`)
)

func isDate(s string) bool {
	_, err := time.Parse("2006-01-02", s)
	return err == nil && dateText().MatchString(s)
}

func isTime(s string) bool {
	m := timeText().FindStringSubmatch(s)
	if m == nil {
		return false
	}
	clock, err := time.Parse("15:04", m[1])
	if err != nil || m[2] > "60" || m[3] > "23" || m[4] > "59" {
		return false
	}
	if m[2] != "60" {
		return true
	}
	// A leap second ends a day of UTC.
	if m[3] != "" {
		ahead, _ := time.ParseDuration(m[3] + "h" + m[4] + "m")
		if sign := s[len(s)-6]; sign == '+' {
			ahead = -ahead
		}
		clock = clock.Add(ahead)
	}
	return clock.Format("15:04") == "23:59"
}

func isDateTime(s string) bool {
	return len(s) > 11 && (s[10] == 'T' || s[10] == 't') && isDate(s[:10]) && isTime(s[11:])
}

func isHostname(s string) bool {
	if len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if len(label) > 63 || !labelText().MatchString(label) {
			return false
		}
	}
	return true
}

func isIPv4(s string) bool {
	address, err := netip.ParseAddr(s)
	return err == nil && address.Is4()
}

func isIPv6(s string) bool {
	address, err := netip.ParseAddr(s)
	return err == nil && address.Is6() && address.Zone() == ""
}

func isEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 1 || at > 64 || !localText().MatchString(s[:at]) {
		return false
	}
	domain := s[at+1:]
	if literal, ok := strings.CutPrefix(domain, "["); ok {
		literal, ok = strings.CutSuffix(literal, "]")
		if six, tagged := strings.CutPrefix(literal, "IPv6:"); tagged {
			return ok && isIPv6(six)
		}
		return ok && isIPv4(literal)
	}
	return isHostname(domain)
}

func isURI(s string) bool {
	m := uriText().FindStringSubmatch(s)
	return m != nil && m[1] != "" && isURIReference(s)
}

func isURIReference(s string) bool {
	m := uriText().FindStringSubmatch(s)
	if m == nil || !pathText().MatchString(m[3]) {
		return false
	}
	for _, tail := range m[4:] {
		if tail != "" && !tailText().MatchString(tail[1:]) {
			return false
		}
	}
	if m[2] == "" {
		// Without a scheme, the first segment must not look like one.
		segment, _, _ := strings.Cut(m[3], "/")
		return m[1] != "" || !strings.Contains(segment, ":")
	}
	authority := authorityText().FindStringSubmatch(m[2])
	if authority == nil {
		return false
	}
	if host, ok := strings.CutPrefix(authority[1], "["); ok {
		host = strings.TrimSuffix(host, "]")
		return isIPv6(host) || futureText().MatchString(host)
	}
	return true
}

// assertion makes a check of strings one of the engine's, which asks it about
// numbers too.
type assertion func(string) bool

func (a assertion) IsFormat(input any) bool {
	s, ok := input.(string)
	return !ok || a(s)
}
