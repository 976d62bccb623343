package rpc

import (
	"net/http"
	"net/url"
	"slices"

	"collabdata/shared/collab"
)

// Preflight holds the headers that answer a browser's preflight request. They allow every origin: the answer to the call itself says
// whether the token's account allows the page's origin.
var Preflight = map[string]string{
	"Access-Control-Allow-Origin":  "*",
	"Access-Control-Allow-Methods": http.MethodPost,
	"Access-Control-Allow-Headers": "authorization,content-type,idempotency-key",
	"Access-Control-Max-Age":       "3600",
}

// AnswerPreflight answers a preflight request.
func AnswerPreflight(w http.ResponseWriter) {
	for name, value := range Preflight {
		w.Header().Set(name, value)
	}
	w.WriteHeader(http.StatusNoContent)
}

// Exposed lists the headers of an answer that a page of another origin may read.
const Exposed = "date,retry-after,x-request-id"

// origin returns the origin of the page that sends a request. It returns "" for the service's own pages, and for programs that are not
// browsers.
func origin(r *http.Request) string {
	sent := r.Header.Get("Origin")
	if u, err := url.Parse(sent); err == nil && u.Host != "" && u.Host == r.Host {
		return ""
	}
	return sent
}

// allowOrigin lets the pages of an origin, or of all origins by *, read the answer.
func allowOrigin(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", Exposed)
	h.Add("Vary", "Origin")
}

// checkOrigin refuses a person's request from a page of an origin that the account does not allow. The page may read the error.
func checkOrigin(x *exchange, r *http.Request) error {
	from := origin(r)
	switch {
	case from == "":
		return nil
	case !slices.Contains(x.Settings.AllowedOrigins, from):
		allowOrigin(x.header, "*")
		return collab.Errorf(collab.PermissionDenied, "the account does not allow pages of %s to call: its operator sets allowedOrigins", from)
	}
	allowOrigin(x.header, from)
	return nil
}
