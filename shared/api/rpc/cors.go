package rpc

import (
	"net/http"
	"net/url"

	"collabdata/shared/collab"
)

// Preflight are the headers of a response to a preflight request. They allow every origin, because
// only the call itself has the token whose account allows origins.
var Preflight = map[string]string{
	"Access-Control-Allow-Origin":  "*",
	"Access-Control-Allow-Methods": http.MethodPost,
	"Access-Control-Allow-Headers": "authorization,content-type,idempotency-key",
	"Access-Control-Max-Age":       "7200",
}

func AnswerPreflight(w http.ResponseWriter) {
	for name, value := range Preflight {
		w.Header().Set(name, value)
	}
	w.WriteHeader(http.StatusNoContent)
}

// Exposed lists the response headers that pages of other origins can read.
const Exposed = "date,retry-after,x-request-id"

// origin returns the origin of the requesting page. It returns "" for the service's own pages, and
// for programs other than browsers.
func origin(r *http.Request) string {
	sent := r.Header.Get("Origin")
	if u, err := url.Parse(sent); err == nil && u.Host != "" && u.Host == r.Host {
		return ""
	}
	return sent
}

// allowOrigin lets pages of an origin, or of all origins for *, read the response.
func allowOrigin(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", Exposed)
	h.Add("Vary", "Origin")
}

// checkOrigin rejects a person's request from an origin that the account does not allow. The page
// can read the error.
func checkOrigin(x *exchange, r *http.Request) error {
	from := origin(r)
	switch {
	case from == "":
		return nil
	case !x.Settings.AllowsOrigin(from):
		allowOrigin(x.header, "*")
		return collab.Errorf(collab.PermissionDenied, "the account does not allow pages of %s to call: its operator sets allowedOrigins", from)
	}
	allowOrigin(x.header, from)
	return nil
}
