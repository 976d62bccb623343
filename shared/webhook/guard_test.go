package webhook

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"collabdata/shared/testing/must"
)

// registry lists all rows of IANA's IPv4 and IPv6 Special-Purpose Address Registries as of
// 2025-10-09, and the multicast blocks, which have separate registries.
var registry = []struct{ block, name string }{
	{"0.0.0.0/8", "this network"},
	{"0.0.0.0/32", "this host on this network"},
	{"10.0.0.0/8", "private use"},
	{"100.64.0.0/10", "shared address space"},
	{"127.0.0.0/8", "loopback"},
	{"169.254.0.0/16", "link local"},
	{"172.16.0.0/12", "private use"},
	{"192.0.0.0/24", "IETF protocol assignments"},
	{"192.0.0.0/29", "IPv4 service continuity prefix"},
	{"192.0.0.8/32", "IPv4 dummy address"},
	{"192.0.0.9/32", "port control protocol anycast"},
	{"192.0.0.10/32", "traversal using relays around NAT anycast"},
	{"192.0.0.170/32", "NAT64/DNS64 discovery"},
	{"192.0.0.171/32", "NAT64/DNS64 discovery"},
	{"192.0.2.0/24", "documentation (TEST-NET-1)"},
	{"192.31.196.0/24", "AS112-v4"},
	{"192.52.193.0/24", "AMT"},
	{"192.88.99.0/24", "deprecated (6to4 relay anycast)"},
	{"192.88.99.2/32", "6a44-relay anycast address"},
	{"192.168.0.0/16", "private use"},
	{"192.175.48.0/24", "direct delegation AS112 service"},
	{"198.18.0.0/15", "benchmarking"},
	{"198.51.100.0/24", "documentation (TEST-NET-2)"},
	{"203.0.113.0/24", "documentation (TEST-NET-3)"},
	{"240.0.0.0/4", "reserved"},
	{"255.255.255.255/32", "limited broadcast"},
	{"224.0.0.0/4", "multicast"},
	{"::1/128", "loopback address"},
	{"::/128", "unspecified address"},
	{"64:ff9b::/96", "IPv4-IPv6 translation"},
	{"64:ff9b:1::/48", "IPv4-IPv6 translation"},
	{"100::/64", "discard-only address block"},
	{"100:0:0:1::/64", "dummy IPv6 prefix"},
	{"2001::/23", "IETF protocol assignments"},
	{"2001::/32", "Teredo"},
	{"2001:1::1/128", "port control protocol anycast"},
	{"2001:1::2/128", "traversal using relays around NAT anycast"},
	{"2001:1::3/128", "DNS-SD service registration protocol anycast"},
	{"2001:2::/48", "benchmarking"},
	{"2001:3::/32", "AMT"},
	{"2001:4:112::/48", "AS112-v6"},
	{"2001:10::/28", "deprecated (previously ORCHID)"},
	{"2001:20::/28", "ORCHIDv2"},
	{"2001:30::/28", "drone remote ID protocol entity tags"},
	{"2001:db8::/32", "documentation"},
	{"2002::/16", "6to4"},
	{"2620:4f:8000::/48", "direct delegation AS112 service"},
	{"3fff::/20", "documentation"},
	{"5f00::/16", "segment routing (SRv6) SIDs"},
	{"fc00::/7", "unique local"},
	{"fe80::/10", "link-local unicast"},
	{"ff00::/8", "multicast"},
	{"fec0::/10", "site local, deprecated by RFC 3879"},
	{"4000::/3", "not assigned to the public Internet"},
}

// spellings returns the IPv6 addresses that embed an IPv4 address.
func spellings(v4 netip.Addr) map[string]netip.Addr {
	b := v4.As4()
	in := func(text string, at int) netip.Addr {
		out := netip.MustParseAddr(text).As16()
		copy(out[at:], b[:])
		return netip.AddrFrom16(out)
	}
	inverted := netip.MustParseAddr("2001:0:5ef5:79fd::").As16() // behind a public server
	for i := range b {
		inverted[12+i] = ^b[i]
	}
	// with a prefix of 64 bits, the address is in bytes 9 to 12
	local := netip.MustParseAddr("64:ff9b:1::").As16()
	copy(local[9:], b[:])
	return map[string]netip.Addr{
		"mapped":               netip.AddrFrom16(v4.As16()),
		"compatible":           in("::", 12),
		"translated":           in("::ffff:0:0:0", 12),
		"NAT64":                in("64:ff9b::", 12),
		"NAT64 local":          in("64:ff9b:1::", 12),
		"NAT64 local /64":      netip.AddrFrom16(local),
		"6to4":                 in("2002::1", 2),
		"Teredo server":        in("2001::f7f7:f7f7", 4), // of a public client
		"Teredo client":        netip.AddrFrom16(inverted),
		"ISATAP":               in("2600:1f18::5efe:0:0", 12),
		"ISATAP unique":        in("2600:1f18::200:5efe:0:0", 12),
		"ISATAP in link-local": in("fe80::5efe:0:0", 12),
	}
}

func last(block netip.Prefix) netip.Addr {
	b := block.Addr().AsSlice()
	for i := block.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	addr, _ := netip.AddrFromSlice(b)
	return addr
}

func TestGuardRefusesSpecialPurposeAddresses(t *testing.T) {
	g := NewGuard(nil)
	for _, row := range registry {
		block := netip.MustParsePrefix(row.block)
		for _, addr := range []netip.Addr{block.Addr(), last(block)} {
			if g.checkAddr(addr, false) == nil {
				t.Errorf("%s of %s (%s) is allowed", addr, row.block, row.name)
			}
			if err := g.CheckURL("https://" + hostOf(addr) + "/"); err == nil {
				t.Errorf("a URL with %s of %s (%s) is allowed", addr, row.block, row.name)
			}
			if !addr.Is4() {
				continue
			}
			for name, spelling := range spellings(addr) {
				if g.checkAddr(spelling, false) == nil {
					t.Errorf("%s, the %s spelling of %s (%s), is allowed", spelling, name, addr, row.name)
				}
				if g.CheckURL("https://"+hostOf(spelling)+"/") == nil {
					t.Errorf("a URL with %s, the %s spelling of %s (%s), is allowed", spelling, name, addr, row.name)
				}
			}
		}
	}
	if g.checkAddr(netip.Addr{}, false) == nil || g.checkAddr(netip.MustParseAddr("2600::1%eth0"), false) == nil {
		t.Error("an address that is none, or has a zone, is allowed")
	}
}

func hostOf(addr netip.Addr) string {
	if addr.Is4() {
		return addr.String()
	}
	return "[" + addr.String() + "]"
}

func TestGuardAllowsPublicAddresses(t *testing.T) {
	g := NewGuard(nil)
	for _, text := range []string{
		"1.0.0.0", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.167.255.255", "192.169.0.0",
		"198.17.255.255", "198.20.0.0", "223.255.255.255",
		"2000::", "2001:200::", "2001:4860:4860::8888", "2003::", "2600:1f18::1", "2606:4700:4700::1111", "2a00::1", "3ffe:ffff::1",
		"::ffff:8.8.8.8", "2600:1f18::5efe:808:808",
	} {
		addr := netip.MustParseAddr(text)
		if err := g.checkAddr(addr, false); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if err := g.CheckURL("https://" + hostOf(addr) + "/hooks?a=b"); err != nil {
			t.Errorf("URL with %s: %v", text, err)
		}
		if g.checkAddr(addr, true) == nil {
			t.Errorf("%s is allowed over http", text)
		}
	}
}

func TestGuardAllowsListedRanges(t *testing.T) {
	ranges, err := ParseRanges(" 10.1.0.0/16, fd00:1::/32,64:ff9b::/96, 64:ff9b:1:2::/64,::1/128 ")
	must.Do(t, err)
	g := NewGuard(ranges)
	for _, test := range []struct {
		addr         string
		https, plain bool
	}{
		{"10.1.0.0", true, true},
		{"10.1.255.255", true, true},
		{"::ffff:10.1.2.3", true, true},
		{"fd00:1::5", true, true},
		{"::1", true, true},
		{"8.8.8.8", true, false},
		{"2600::1", true, false},
		{"10.2.0.0", false, false},
		{"10.0.255.255", false, false},
		{"fd00:2::5", false, false},
		{"127.0.0.1", false, false},
		{"64:ff9b::808:808", true, true},      // a translated public address
		{"64:ff9b::a01:203", true, true},      // 10.1.2.3
		{"64:ff9b::a9fe:a9fe", false, false},  // 169.254.169.254 is not listed
		{"64:ff9b:1:2::808:808", true, true},  //
		{"64:ff9b:1:2::7f00:1", false, false}, // 127.0.0.1
		{"64:ff9b:1:2:a:0:8:0", false, false}, // 10.0.0.8 with a prefix of 64 bits
		{"2002:a01:203::", false, false},      // 6to4 is not listed, though 10.1.2.3 is
		{"2600::5efe:10.1.2.3", true, false},  // ISATAP of a listed address
		{"2600::5efe:169.254.169.254", false, false},
	} {
		addr := netip.MustParseAddr(test.addr)
		if err := g.checkAddr(addr, false); (err == nil) != test.https {
			t.Errorf("https to %s: error %v, want allowed: %t", test.addr, err, test.https)
		}
		if err := g.checkAddr(addr, true); (err == nil) != test.plain {
			t.Errorf("http to %s: error %v, want allowed: %t", test.addr, err, test.plain)
		}
	}
}

// TestGuardLooksBehindListedTranslations checks that a listed range of translated addresses only
// allows embedded public addresses.
func TestGuardLooksBehindListedTranslations(t *testing.T) {
	ranges, err := ParseRanges("::/96, ::ffff:0:0:0/96, 64:ff9b::/96, 64:ff9b:1::/48, 2002::/16, 2001::/32, fe80::/10")
	must.Do(t, err)
	g := NewGuard(ranges)
	for name, spelling := range spellings(netip.MustParseAddr("10.0.0.8")) {
		if g.checkAddr(spelling, false) == nil {
			t.Errorf("%s, the %s spelling of 10.0.0.8, is allowed", spelling, name)
		}
	}
	for name, spelling := range spellings(netip.MustParseAddr("8.8.8.8")) {
		if err := g.checkAddr(spelling, false); (err == nil) != (name != "NAT64 local /64") {
			t.Errorf("%s, the %s spelling of 8.8.8.8: error %v", spelling, name, err)
		}
	}
}

func TestParseRanges(t *testing.T) {
	for _, list := range []string{"10.0.0.0", "10.0.0.1/8", "10.0.0.0/33", "localhost", "::ffff:10.0.0.0/104", "10.0.0.0/8;fd00::/8"} {
		if got, err := ParseRanges(list); err == nil {
			t.Errorf("%q: %v, want an error", list, got)
		}
	}
	if got, err := ParseRanges(""); len(got) != 0 || err != nil {
		t.Errorf("empty list: %v, %v", got, err)
	}
}

func TestCheckURL(t *testing.T) {
	strict, local := NewGuard(nil), NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	for _, test := range []struct {
		url  string
		rule string // part of the message; "" if allowed
	}{
		{"https://example.com", ""},
		{"https://hooks.example.com:8443/a/b?c=d", ""},
		{"HTTPS://EXAMPLE.com/", ""},
		{"https://under_score.example.com/", ""},
		{"https://xn--mnchen-3ya.example/", ""},
		{"https://1e100.net/", ""},
		{"https://example.com:1/", ""},
		{"https://example.com:65535/", ""},
		{"https://3.com.0xzz/", ""},

		{"", "must be a URL"},
		{"example.com/hooks", "must be a URL"},
		{"https:///hooks", "must be a URL"},
		{"https:example.com", "must be a URL"},
		{"https://exa mple.com/", "must be a URL"},
		{"https://example.com/\n", "must be a URL"},
		{"https://[::1/", "must be a URL"},
		{"https://%31%32%37.0.0.1/", "must be a URL"},
		{"//example.com/", "must begin with https://"},
		{"http://example.com/", "must begin with https://"},
		{"http://8.8.8.8/", "must begin with https://"},
		{"ftp://example.com/", "must begin with https://"},
		{"file://example.com/etc/passwd", "must begin with https://"},
		{"gopher://example.com/", "must begin with https://"},
		{"https://user@example.com/", "must not contain a user name or password"},
		{"https://user:pass@example.com/", "must not contain a user name or password"},
		{"https://@example.com/", "must not contain a user name or password"},
		{"https://example.com@127.0.0.1/", "must not contain a user name or password"},
		{"https://example.com/#a", "must not contain a fragment"},
		{"https://example.com/#", "must not contain a fragment"},
		{"https://example.com:/", "must not have an empty port"},
		{"https://example.com:0/", "port from 1 to 65535"},
		{"https://example.com:65536/", "port from 1 to 65535"},
		{"https://example.com:99999999999999999999/", "port from 1 to 65535"},
		{"https://" + strings.Repeat("a.", 1_020) + "example/", "at most 2048 bytes"},

		{"https://127.0.0.1/", "private, local or reserved"},
		{"https://169.254.169.254/latest/meta-data/", "private, local or reserved"},
		{"https://[::1]/", "private, local or reserved"},
		{"https://[fd00:ec2::254]/", "private, local or reserved"},
		{"https://[::ffff:127.0.0.1]/", "private, local or reserved"},
		{"https://[::ffff:7f00:1]/", "private, local or reserved"},
		{"https://[0:0:0:0:0:ffff:7f00:1]/", "private, local or reserved"},
		{"https://[fe80::1%25eth0]/", "plain IP address"},
		{"https://[example.com]/", "must be a URL"},
		{"https://localhost/", "private, local or reserved"},
		{"https://LocalHost:8443/", "private, local or reserved"},
		{"https://a.localhost/", "private, local or reserved"},
		{"https://localhost./", "letters, digits"},

		{"https://2130706433/", "four decimal numbers"},
		// 8.8.8.8: refused, because resolvers disagree on it
		{"https://134744072/", "four decimal numbers"},
		{"https://017700000001/", "four decimal numbers"},
		{"https://0x7f000001/", "four decimal numbers"},
		{"https://0X7F000001/", "four decimal numbers"},
		{"https://0x7f.1/", "four decimal numbers"},
		{"https://0x7f.0x0.0x0.0x1/", "four decimal numbers"},
		{"https://0177.0.0.1/", "four decimal numbers"},
		{"https://127.1/", "four decimal numbers"},
		{"https://127.0.1/", "four decimal numbers"},
		{"https://127.0.0.01/", "four decimal numbers"},
		{"https://127.0.0.1.1/", "four decimal numbers"},
		{"https://127.0.0.256/", "four decimal numbers"},
		{"https://example.0x/", "four decimal numbers"},
		{"https://127.0.0.1./", "letters, digits"},
		{"https://8.8.8.8./", "letters, digits"},
		{"https://１２７.0.0.1/", "letters, digits"},
		{"https://127。0。0。1/", "letters, digits"},
		{"https://①②⑦.0.0.1/", "letters, digits"},
		{"https://%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1/", "letters, digits"},
		{"https://münchen.example/", "letters, digits"},
		{"https://\u212Aelvin.example/", "letters, digits"},
		{"https://a..example/", "letters, digits"},
		{"https://.example/", "letters, digits"},
		{"https://" + strings.Repeat("a", 64) + ".example/", "letters, digits"},
		{"https://" + strings.Repeat("a.", 125) + "example/", "name for its host"},
		{"https://a,b.example/", "letters, digits"},
		{"https://a*b.example/", "letters, digits"},
	} {
		err := strict.CheckURL(test.url)
		if test.rule == "" && err != nil || test.rule != "" && (err == nil || !strings.Contains(err.Error(), test.rule)) {
			t.Errorf("%q: error %v, want %q", test.url, err, test.rule)
		}
	}
	for url, allowed := range map[string]bool{
		"http://127.0.0.1:9000/":         true,
		"http://localhost:9000/":         true,
		"https://localhost/":             true,
		"http://receiver.example/":       true, // the address is checked when dialled
		"https://8.8.8.8/":               true,
		"http://8.8.8.8/":                false,
		"http://10.0.0.1/":               false,
		"http://[::1]/":                  false,
		"http://[64:ff9b::127.0.0.1]/":   false,
		"http://[::ffff:127.0.0.1]:900/": true,
		"ws://localhost/":                false,
	} {
		if err := local.CheckURL(url); (err == nil) != allowed {
			t.Errorf("with 127.0.0.0/8 listed, %s: error %v, want allowed: %t", url, err, allowed)
		}
	}
}

// FuzzCheckURL checks that accepted URLs name a host that can be dialled, and never a refused
// address.
func FuzzCheckURL(f *testing.F) {
	for _, seed := range []string{"https://example.com/", "https://127.0.0.1/", "https://[64:ff9b::7f00:1]:1/", "https://0x7f.1/a", "https://a@b/"} {
		f.Add(seed)
	}
	g := NewGuard(nil)
	f.Fuzz(func(t *testing.T, text string) {
		if g.CheckURL(text) != nil {
			return
		}
		host, ok := strings.CutPrefix(strings.ToLower(text), "https://")
		if !ok || strings.ContainsAny(host, "@#") && strings.IndexAny(host, "@#") < strings.IndexAny(host+"/", "/?") {
			t.Fatalf("%q is accepted", text)
		}
		host = host[:strings.IndexAny(host+"/", "/?")]
		if addrPort, err := netip.ParseAddrPort(host); err == nil {
			host = addrPort.Addr().String()
		}
		if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil && g.checkAddr(addr, false) != nil {
			t.Fatalf("%q is accepted though %v is refused", text, addr)
		}
	})
}

func ExampleGuard_CheckURL() {
	guard := NewGuard(nil)
	fmt.Println("url", guard.CheckURL("https://169.254.169.254/latest/meta-data/"))
	// Output: url must not name a private, local or reserved address
}
