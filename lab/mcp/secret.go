package mcp

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"agentlab/lab/jsonvalue"
)

// minSecret is the length from which a value is looked for in what is told.
// Shorter ones would be found in any text. Of the environment most values are no
// secrets but words, such as the level of a log.
const (
	minSecret      = 4
	minEnvironment = 8
)

// secrets are the values that only the server is to see, longest first: of the
// variables, headers and parameters that are named.
func (s *Server) secrets(named func(name string) bool) []string {
	var all []string
	add := func(values ...string) {
		for _, v := range values {
			if len(v) >= minSecret {
				all = append(all, v)
			}
		}
	}
	for name, value := range s.Env {
		if len(value) >= minEnvironment && named(name) {
			add(value)
		}
	}
	for name, value := range s.Headers {
		if named(name) {
			add(value)
			add(strings.Fields(value)...)
		}
	}
	if u, err := url.Parse(s.URL); err == nil && u.User != nil {
		secret, ok := u.User.Password()
		add(base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + secret))) // as it is sent
		if !ok {
			secret = u.User.Username() // a name alone is how some take a token
		}
		add(secret, url.QueryEscape(secret), url.PathEscape(secret))
	}
	if u, err := url.Parse(s.URL); err == nil {
		add(u.RawQuery)
		for name, values := range u.Query() {
			for _, value := range values {
				if named(name) {
					add(value, url.QueryEscape(value))
				}
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
	for _, secret := range s.secrets(func(string) bool { return true }) {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	return text
}

// hidden stands for a secret.
const hidden = "[hidden]"

// likeSecrets are words in the names of variables, headers and parameters that
// hold secrets.
var likeSecrets = []string{"TOKEN", "KEY", "SECRET", "PASS", "CREDENTIAL", "AUTH", "COOKIE"}

// inAnswers are the secrets that are looked for in the answers of tools, as they
// stand within a JSON string. Only long ones are, with a name that says so: an
// answer in which a common word is missing cannot be graded.
func (s *Server) inAnswers() [][]byte {
	var all [][]byte
	for _, secret := range s.secrets(func(name string) bool {
		return slices.ContainsFunc(likeSecrets, func(word string) bool { return strings.Contains(strings.ToUpper(name), word) })
	}) {
		if len(secret) >= minEnvironment {
			quoted := jsonvalue.AppendString(nil, secret)
			all = append(all, quoted[1:len(quoted)-1])
		}
	}
	return all
}

// redacted is a URL without what may be a secret.
func redacted(u *url.URL) string {
	shown := *u
	shown.User, shown.RawQuery, shown.ForceQuery, shown.Fragment, shown.RawFragment = nil, "", false, "", ""
	return shown.String()
}
