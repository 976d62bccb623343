package collab

import "testing"

func TestAllowsOrigin(t *testing.T) {
	s := Settings{AllowedOrigins: []string{"https://app.example.com", "http://localhost:*", "http://[::1]:*"}}
	for origin, want := range map[string]bool{
		"https://app.example.com": true, "http://localhost:5173": true,
		"http://app.example.com": false, "https://app.example.com:8443": false, "http://127.0.0.1:5173": false, "http://localhost": false,
		"https://localhost:5173": false, "http://localhost.example:5173": false, "http://localhost:1.evil.example": false, "http://localhost:": false,
		"http://localhost:5173/": false, "http://localhost:5173@evil.example": false, "http://evil@localhost:5173": false, "http://LOCALHOST:5173": false, "http://[::1]:5173": false, "null": false, "": false,
	} {
		if got := s.AllowsOrigin(origin); got != want {
			t.Errorf("AllowsOrigin(%q) = %v, want %v", origin, got, want)
		}
	}
	for _, origin := range LoopbackOrigins() {
		if err := CheckOrigin(origin); err != nil {
			t.Errorf("%s: %v", origin, err)
		}
	}
}
