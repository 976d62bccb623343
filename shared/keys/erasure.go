package keys

import (
	"strings"

	"collabdata/shared/collab"
)

// ParseOrganization reads a partition of an organization of an account: which one, and the parts that follow, escaped as they are in the
// key. ok is false for any other partition.
func ParseOrganization(acct, pk string) (org collab.OrganizationRef, rest []string, ok bool) {
	text, ok := strings.CutPrefix(pk, Join("A", acct, "O")+"#")
	if !ok {
		return org, nil, false
	}
	parts := strings.Split(text, "#")
	id, n, err := parsePart(parts[0])
	return collab.OrganizationRef{Account: acct, Organization: id, Incarnation: n}, parts[1:], err == nil
}
