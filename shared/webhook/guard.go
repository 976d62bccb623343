package webhook

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// MaxURL is the maximum length of an endpoint URL, in bytes.
const MaxURL = 2_048

// Guard decides which addresses may be called: public addresses over https, and addresses in a
// listed range over http or https, in any notation.
//
// The package github.com/doyensec/safeurl v0.2.2 is no replacement. It accepts 15 of the test
// vectors (newer ranges of the registries, 64:ff9b:1::/48, IPv4-compatible and ISATAP addresses),
// and its list of allowed ranges blocks all others.
type Guard struct {
	allowed []netip.Prefix
	special []netip.Prefix
	unicast netip.Prefix // IANA's range for the public IPv6 Internet
}

// NewGuard returns a guard that allows public addresses and the listed private ranges.
func NewGuard(allowed []netip.Prefix) *Guard {
	g := &Guard{allowed: allowed, unicast: netip.MustParsePrefix("2000::/3")}
	for _, block := range []string{
		// IANA IPv4 Special-Purpose Address Registry (RFC 6890), as of 2025-10-09. A block covers
		// the blocks inside it.
		"0.0.0.0/8",       // "this network", RFC 791
		"10.0.0.0/8",      // private use, RFC 1918
		"100.64.0.0/10",   // shared address space, RFC 6598
		"127.0.0.0/8",     // loopback, RFC 1122
		"169.254.0.0/16",  // link local, with the metadata of cloud machines, RFC 3927
		"172.16.0.0/12",   // private use, RFC 1918
		"192.0.0.0/24",    // IETF protocol assignments, RFC 6890
		"192.0.2.0/24",    // documentation, RFC 5737
		"192.31.196.0/24", // AS112, RFC 7535
		"192.52.193.0/24", // AMT, RFC 7450
		"192.88.99.0/24",  // 6to4 relay anycast, RFC 7526
		"192.168.0.0/16",  // private use, RFC 1918
		"192.175.48.0/24", // AS112, RFC 7534
		"198.18.0.0/15",   // benchmarking, RFC 2544
		"198.51.100.0/24", // documentation, RFC 5737
		"203.0.113.0/24",  // documentation, RFC 5737
		"240.0.0.0/4",     // reserved, with the limited broadcast, RFC 1112
		// IANA IPv4 Multicast Address Space Registry.
		"224.0.0.0/4", // RFC 5771
		// IANA IPv6 Special-Purpose Address Registry, as of 2025-10-09, within 2000::/3. All other
		// IPv6 addresses are refused anyway.
		"2001::/23",         // IETF protocol assignments, with Teredo and ORCHID, RFC 2928
		"2001:db8::/32",     // documentation, RFC 3849
		"2002::/16",         // 6to4, RFC 3056
		"2620:4f:8000::/48", // AS112, RFC 7534
		"3fff::/20",         // documentation, RFC 9637
	} {
		g.special = append(g.special, netip.MustParsePrefix(block))
	}
	return g
}

// ParseRanges parses comma-separated CIDR blocks for NewGuard. It returns nil for an empty text,
// and an error that names an invalid block.
func ParseRanges(list string) ([]netip.Prefix, error) {
	var ranges []netip.Prefix
	for text := range strings.SplitSeq(list, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		block, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not an address range such as 10.0.0.0/8: %w", text, err)
		}
		if block != block.Masked() || block.Addr().Is4In6() {
			return nil, fmt.Errorf("%q is not the plain form of an address range such as 10.0.0.0/8", text)
		}
		ranges = append(ranges, block)
	}
	return ranges, nil
}

var errRefusedAddress = errors.New("the address is private, local or reserved")

// checkAddr returns an error if an address may not be called. plain means over http. If an IPv6
// address embeds an IPv4 address, both must be allowed: a listed range of translated addresses does
// not allow the embedded ones.
func (g *Guard) checkAddr(addr netip.Addr, plain bool) error {
	addr = addr.Unmap() // convert an IPv4-mapped address
	if plain && !g.listed(addr) || !g.open(addr) {
		return errRefusedAddress
	}
	for _, inner := range translated(addr) {
		if !g.open(inner) {
			return errRefusedAddress
		}
	}
	return nil
}

func (g *Guard) open(addr netip.Addr) bool { return g.listed(addr) || g.public(addr) }

func (g *Guard) listed(addr netip.Addr) bool { return contains(g.allowed, addr) }

func (g *Guard) public(addr netip.Addr) bool {
	return addr.IsValid() && addr.Zone() == "" && (addr.Is4() || g.unicast.Contains(addr)) && !contains(g.special, addr)
}

func contains(blocks []netip.Prefix, addr netip.Addr) bool {
	for _, block := range blocks {
		if block.Contains(addr) {
			return true
		}
	}
	return false
}

// translated returns the IPv4 addresses embedded in an IPv6 address. It returns the invalid address
// if they are unknown.
func translated(addr netip.Addr) []netip.Addr {
	if !addr.Is6() {
		return nil
	}
	b := addr.As16()
	v4 := func(b []byte) netip.Addr { return netip.AddrFrom4([4]byte(b)) }
	within := func(block string) bool { return netip.MustParsePrefix(block).Contains(addr) }
	switch {
	case within("64:ff9b::/96"): // NAT64, RFC 6052
		return []netip.Addr{v4(b[12:])}
	// local NAT64, RFC 8215; supports the common form, with a prefix of 96 bits
	case within("64:ff9b:1::/48"):
		if [4]byte(b[8:]) != [4]byte{} {
			return []netip.Addr{{}}
		}
		return []netip.Addr{v4(b[12:])}
	case within("::/96") && addr != netip.IPv6Loopback() && addr != netip.IPv6Unspecified(): // IPv4-compatible, RFC 4291
		return []netip.Addr{v4(b[12:])}
	case within("::ffff:0:0:0/96"): // IPv4-translated, RFC 2765
		return []netip.Addr{v4(b[12:])}
	case within("2002::/16"): // 6to4, RFC 3056
		return []netip.Addr{v4(b[2:])}
	case within("2001::/32"): // Teredo, RFC 4380: the server, and the client with inverted bits
		return []netip.Addr{v4(b[4:]), v4([]byte{^b[12], ^b[13], ^b[14], ^b[15]})}
	case b[8]&^2 == 0 && [3]byte(b[9:]) == [3]byte{0, 0x5e, 0xfe}: // ISATAP, RFC 5214, in any network
		return []netip.Addr{v4(b[12:])}
	}
	return nil
}

// CheckURL returns an error if an endpoint's URL breaks a rule: https, or http if ranges are
// listed; a public or listed host; any port. It resolves no names: their addresses are checked when
// dialling. The error's text is for the caller.
func (g *Guard) CheckURL(text string) error {
	if len(text) > MaxURL {
		return fmt.Errorf("must be at most %d bytes", MaxURL)
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Host == "" {
		return errors.New("must be a URL such as https://example.com/webhooks")
	}
	plain := u.Scheme == "http"
	if u.Scheme != "https" && !(plain && len(g.allowed) > 0) {
		return errors.New("must begin with https://")
	}
	if u.User != nil {
		return errors.New("must not contain a user name or password")
	}
	if strings.Contains(text, "#") {
		return errors.New("must not contain a fragment")
	}
	if strings.HasSuffix(u.Host, ":") {
		return errors.New("must not have an empty port")
	}
	if port, err := strconv.Atoi(u.Port()); u.Port() != "" && (err != nil || port < 1 || port > 65535) {
		return errors.New("must have a port from 1 to 65535")
	}
	return g.checkHost(u.Hostname(), strings.HasPrefix(u.Host, "["), plain)
}

func (g *Guard) checkHost(host string, bracketed, plain bool) error {
	const reserved = "must not name a private, local or reserved address"
	if addr, err := netip.ParseAddr(host); err == nil {
		if bracketed != addr.Is6() || addr.Zone() != "" {
			return errors.New("must have a plain IP address or a name for its host")
		}
		if g.checkAddr(addr, plain) != nil {
			return errors.New(reserved)
		}
		return nil
	}
	if bracketed || len(host) > 253 {
		return errors.New("must have a plain IP address or a name for its host")
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if len(label) < 1 || len(label) > 63 || strings.Trim(label, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return errors.New("must have a host of labels of letters, digits, - and _, 1 to 63 in each (international names as xn--…)")
		}
	}
	switch last := strings.ToLower(labels[len(labels)-1]); {
	case isNumber(last): // some resolvers accept 2130706433, 0x7f.1 or 0177.0.0.1 as addresses
		return errors.New("must write an IPv4 address as four decimal numbers without leading zeros")
	case last == "localhost" && g.checkAddr(netip.AddrFrom4([4]byte{127, 0, 0, 1}), plain) != nil && g.checkAddr(netip.IPv6Loopback(), plain) != nil:
		return errors.New(reserved)
	}
	return nil
}

// isNumber reports whether the last label of a host makes it an IPv4 address, by the URL Standard
// of WHATWG.
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
