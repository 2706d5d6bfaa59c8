package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// HTTP looks at the JSON that a GET returns, see [JSON]. The answer has to have
// a status of 2xx. A redirect is followed within the same scheme, host and
// port: the headers, which may hold a secret, go nowhere else. For the same
// reason no proxy is taken from the environment. ctx is the only limit of time.
// Nothing is kept open between two looks.
func HTTP(address string, headers map[string]string) (Probe, error) {
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		// The error of Parse would repeat all of the address.
		return nil, &Error{Kind: "http", Reason: "it needs an address that begins with http:// or https:// and a host"}
	}
	// What may hold a secret is left out.
	target := (&url.URL{Scheme: at.Scheme, Host: at.Host, Path: at.Path}).String()
	client := &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 1 << 20},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			switch {
			case next.URL.Scheme != at.Scheme || next.URL.Host != at.Host:
				return &fault{"it redirects to another host", next.URL.Scheme + "://" + next.URL.Host, nil}
			case len(via) > 5:
				return &fault{"it redirects more than five times", "", nil}
			}
			return nil
		},
	}
	return document("http", target, func(ctx context.Context) ([]byte, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Accept", "application/json")
		for name, value := range headers {
			if http.CanonicalHeaderKey(name) == "Host" {
				request.Host = value
			}
			request.Header.Set(name, value)
		}
		response, err := client.Do(request)
		if err != nil {
			return nil, unreached(err)
		}
		defer response.Body.Close()
		if response.StatusCode < 200 || response.StatusCode > 299 {
			return nil, &fault{fmt.Sprintf("the answer has the status %d", response.StatusCode), "", nil}
		}
		text, err := io.ReadAll(io.LimitReader(response.Body, MaxDocument+1))
		if err != nil {
			return nil, &fault{"the answer breaks off", err.Error(), err}
		}
		return text, nil
	}), nil
}

// unreached says why there is no answer.
func unreached(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err // without the address
	}
	var (
		known       *fault
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		alert       tls.AlertError
		hostname    x509.HostnameError
		unknown     x509.UnknownAuthorityError
	)
	reason := "it cannot be reached"
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &hostname):
		reason = "its TLS certificate is for another host"
	case errors.As(err, &unknown), errors.As(err, &certificate):
		reason = "its TLS certificate is not trusted"
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		reason = "it does not speak TLS"
	case errors.As(err, &alert):
		reason = "it refuses the TLS connection"
	}
	return &fault{reason, err.Error(), err}
}
