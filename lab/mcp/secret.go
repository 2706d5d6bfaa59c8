package mcp

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// minSecret is the length from which a value is looked for in what is told.
// Shorter ones would be found in any text. Of the environment most values are no
// secrets but words, such as the level of a log.
const (
	minSecret      = 4
	minEnvironment = 8
)

// secrets are the values that only the server is to see, longest first.
func (s *Server) secrets() []string {
	var all []string
	add := func(values ...string) {
		for _, v := range values {
			if len(v) >= minSecret {
				all = append(all, v)
			}
		}
	}
	for _, value := range s.Env {
		if len(value) >= minEnvironment {
			add(value)
		}
	}
	for _, value := range s.Headers {
		add(value)
		add(strings.Fields(value)...)
	}
	if u, err := url.Parse(s.URL); err == nil {
		secret, ok := u.User.Password()
		add(base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + secret))) // as it is sent
		if !ok {
			secret = u.User.Username() // a name alone is how some take a token
		}
		add(secret, url.QueryEscape(secret), url.PathEscape(secret))
		add(u.RawQuery)
		for _, values := range u.Query() {
			for _, value := range values {
				add(value, url.QueryEscape(value))
			}
		}
	}
	// The scheme of an Authorization is none.
	all = slices.DeleteFunc(all, func(v string) bool { return strings.EqualFold(v, "bearer") || strings.EqualFold(v, "basic") })
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(all)
}

// scrub takes out of a text what only the server is to see.
func (s *Server) scrub(text string) string {
	for _, secret := range s.secrets() {
		text = strings.ReplaceAll(text, secret, "[hidden]")
	}
	return text
}

// redacted is a URL without what may be a secret.
func redacted(u *url.URL) string {
	shown := *u
	shown.User, shown.RawQuery, shown.ForceQuery, shown.Fragment, shown.RawFragment = nil, "", false, "", ""
	return shown.String()
}
