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

// hosts are the names by which the server may be called, as it may by localhost and every IP address.
type hosts []string

// parseHosts reads the variable HOST: names by which others call this server, and addresses to listen on as well as those of this machine,
// such as 0.0.0.0 in a container, with commas between them.
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
		addresses = append([]string{"127.0.0.1"}, addresses...) // where the demo calls the service
	}
	return names, addresses
}

// guard serves requests that call the server by one of its names, and of another site's page only those of a person with a token, whose
// account says which pages may call. A page of evil.example can lead that name to this machine and would then read what is here; it cannot do
// so by an address or by localhost.
func (h hosts) guard(next http.Handler, fail func(http.ResponseWriter, *http.Request, error)) http.Handler {
	refuse := func(w http.ResponseWriter, r *http.Request, format string, args ...any) {
		id := rand.Text()
		w.Header().Set(collab.RequestIDHeader, id)
		fail(w, r.WithContext(collab.WithRequestID(r.Context(), id)), collab.Errorf(collab.PermissionDenied, format, args...))
	}
	sameSite := http.NewCrossOriginProtection()
	sameSite.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse(w, r, "pages of other sites may not call this server")
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
