package auth

import (
	"net/http"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
)

// Require returns a handler that authenticates requests. It passes valid ones to next with their
// collab.Identity in the context, and answers others through the server. It does not read the body.
func Require(c *credentials.Checker, s *rpc.Server, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		identity, err := c.Check(r.Context(), r.Header)
		if err != nil {
			s.Fail(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(collab.WithIdentity(r.Context(), identity)))
	})
}
