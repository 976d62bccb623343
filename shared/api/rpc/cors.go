package rpc

import (
	"net/http"
	"net/url"
	"slices"

	"collabdata/shared/collab"
)

// Preflight are the headers of the answer to a browser that asks whether a page of another origin may call. It allows every origin: the
// answer to the call itself says whether the token's account allows the page's.
var Preflight = map[string]string{
	"Access-Control-Allow-Origin":  "*",
	"Access-Control-Allow-Methods": http.MethodPost,
	"Access-Control-Allow-Headers": "authorization,content-type,idempotency-key",
	"Access-Control-Max-Age":       "3600",
}

// AnswerPreflight answers such a question.
func AnswerPreflight(w http.ResponseWriter) {
	for name, value := range Preflight {
		w.Header().Set(name, value)
	}
	w.WriteHeader(http.StatusNoContent)
}

// Exposed are the headers of an answer that a page of another origin may read.
const Exposed = "date,retry-after,x-request-id"

// origin is the origin of the page that sends a request, as far as its answer depends on it: "" for the service's own, and for programs that
// are no browser.
func origin(r *http.Request) string {
	sent := r.Header.Get("Origin")
	if u, err := url.Parse(sent); err == nil && u.Host != "" && u.Host == r.Host {
		return ""
	}
	return sent
}

// allowOrigin lets pages of an origin, * for all, read the answer.
func allowOrigin(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", Exposed)
	h.Add("Vary", "Origin")
}

// checkOrigin refuses a person's request from a page of an origin that the account does not allow. The page may read why.
func checkOrigin(x *exchange) error {
	from := origin(x.r)
	switch {
	case from == "":
		return nil
	case !slices.Contains(x.Settings.AllowedOrigins, from):
		allowOrigin(x.w.Header(), "*")
		return collab.Errorf(collab.PermissionDenied, "the account does not allow pages of %s to call: its operator sets allowedOrigins", from)
	}
	allowOrigin(x.w.Header(), from)
	return nil
}
