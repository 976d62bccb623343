package console

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
)

// Session admits the first browser that opens the printed address.
type Session struct {
	Console *Console
	Port    string // of the server
	first   string // token in the address
	cookie  string
	used    atomic.Bool
}

// NewSession returns a session of a server on a port of the loopback address.
func NewSession(c *Console, port string) *Session {
	return &Session{Console: c, Port: port, first: rand.Text(), cookie: rand.Text()}
}

// Address returns the URL to open once.
func (s *Session) Address() string {
	return "http://" + net.JoinHostPort("127.0.0.1", s.Port) + Path + "/begin?" + url.Values{"token": {s.first}}.Encode()
}

// ServeHTTP serves the pages to the browser that opened the address, under a local host name.
func (s *Session) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := "collabdata-console-" + s.Port // cookies are not separated by port
	host, port, err := net.SplitHostPort(r.Host)
	if ip, parseErr := netip.ParseAddr(host); err != nil || port != s.Port || host != "localhost" && (parseErr != nil || !ip.IsLoopback()) {
		http.Error(w, "this server is called by its address on this machine alone", http.StatusForbidden)
		return
	}
	if r.URL.Path == "/" {
		http.Redirect(w, r, Path, http.StatusSeeOther)
		return
	}
	token := r.URL.Query().Get("token")
	if r.URL.Path == Path+"/begin" && r.Method == http.MethodGet && same(token, s.first) && s.used.CompareAndSwap(false, true) {
		http.SetCookie(w, &http.Cookie{Name: name, Value: s.cookie, Path: Path, HttpOnly: true, SameSite: http.SameSiteStrictMode})
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, Path, http.StatusSeeOther)
		return
	}
	if c, err := r.Cookie(name); err != nil || !same(c.Value, s.cookie) {
		if strings.HasPrefix(r.URL.Path, Path+"/files/") { // styles of the error page
			s.Console.ServeHTTP(w, r)
			return
		}
		s.Console.refuse(w, r, "This browser has no session", "The address that `admin console` printed opens these pages once, in one browser. "+
			"In that browser, go on; else start `admin console` again.")
		return
	}
	if r.URL.Path == Path+"/begin" {
		http.Redirect(w, r, Path, http.StatusSeeOther)
		return
	}
	s.Console.ServeHTTP(w, r)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
