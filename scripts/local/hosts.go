package main

import (
	"crypto/rand"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"collabdata/shared/collab"
)

// hosts are the accepted host names, besides localhost and IP addresses.
type hosts []string

// parseHosts parses the variable HOST, a comma-separated list: names of this server, and addresses
// to listen on besides loopback, such as 0.0.0.0 in a container.
func parseHosts(text string) (names hosts, addresses []string) {
	for part := range strings.SplitSeq(text, ",") {
		part = strings.ToLower(strings.TrimSpace(part))
		if _, err := netip.ParseAddr(part); err == nil {
			addresses = append(addresses, part)
		} else if part != "" {
			names = append(names, part)
		}
	}
	reaches := func(address string) bool {
		return address == "127.0.0.1" || netip.MustParseAddr(address).IsUnspecified()
	}
	if len(addresses) > 0 && !slices.ContainsFunc(addresses, reaches) {
		addresses = append([]string{"127.0.0.1"}, addresses...) // the demo calls the service there
	}
	return names, addresses
}

// guard serves requests to accepted host names. From pages of other sites, it only serves requests
// with a personal token, because the account lists allowed origins. This prevents DNS rebinding: a
// page of evil.example cannot read local data by pointing its name to this machine.
func (h hosts) guard(next http.Handler, fail func(http.ResponseWriter, *http.Request, error)) http.Handler {
	refuse := func(w http.ResponseWriter, r *http.Request, format string, args ...any) {
		id := rand.Text()
		w.Header().Set(collab.RequestIDHeader, id)
		fail(w, r.WithContext(collab.WithRequestID(r.Context(), id)), collab.Errorf(collab.PermissionDenied, format, args...))
	}
	sameSite := http.NewCrossOriginProtection()
	sameSite.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse(w, r, "pages of other sites may not call this server, and a server sends no header Origin")
	}))
	ours := sameSite.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			name = strings.Trim(r.Host, "[]")
		}
		name = strings.ToLower(name)
		if _, err := netip.ParseAddr(name); err != nil && name != "localhost" && !slices.Contains(h, name) {
			refuse(w, r, "this server is not known as %q: call it as localhost, or start it with HOST=%[1]s", name)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/v2/") && strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
			next.ServeHTTP(w, r)
			return
		}
		ours.ServeHTTP(w, r)
	})
}
