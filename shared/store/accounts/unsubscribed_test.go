package accounts

import (
	"bytes"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

// TestUnsubscribed: an unsubscribed user receives no email at any address of the organization, and
// the address none as any user of the account.
func TestUnsubscribed(t *testing.T) {
	d := New(storetest.New(t))
	address := "bob@example.com"
	bob := unsubscribe.Recipient{Account: "acct", Organization: "org", User: "bob", Email: address}
	other := "other@example.com"
	users := []collab.User{
		{UserID: "bob", Email: &address}, {UserID: "bobby", Email: &address}, {UserID: "cid", Email: &other}, {UserID: "dan"},
	}
	check := func(account, organization string, want map[string]bool) {
		t.Helper()
		got, err := d.Unsubscribed(t.Context(), collab.OrganizationRef{Account: account, Organization: organization}, users)
		must.Do(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %s: %s", account, organization, diff)
		}
	}
	check("acct", "org", map[string]bool{})
	for range 2 {
		must.Do(t, d.Unsubscribe(t.Context(), bob))
	}
	check("acct", "org", map[string]bool{"bob": true, "bobby": true})
	check("acct", "another", map[string]bool{"bob": true, "bobby": true}) // by the address
	check("another", "org", map[string]bool{})
	users[0].Email = &other
	check("acct", "org", map[string]bool{"bob": true, "bobby": true})
	check("acct", "another", map[string]bool{"bobby": true})
	for range 2 {
		must.Do(t, d.Resubscribe(t.Context(), bob))
	}
	check("acct", "org", map[string]bool{})
}

// TestMailSecret: the first secret is kept.
func TestMailSecret(t *testing.T) {
	d := New(storetest.New(t))
	if got, err := d.MailSecret(t.Context(), "acct"); got != nil || err != nil {
		t.Errorf("%x, %v before there is one", got, err)
	}
	first := bytes.Repeat([]byte{1}, unsubscribe.SecretBytes)
	for _, secret := range [][]byte{first, bytes.Repeat([]byte{2}, unsubscribe.SecretBytes)} {
		if got, err := d.KeepMailSecret(t.Context(), "acct", secret); err != nil || !bytes.Equal(got, first) {
			t.Errorf("kept %x, %v", got, err)
		}
	}
	if got, err := d.MailSecret(t.Context(), "acct"); err != nil || !bytes.Equal(got, first) {
		t.Errorf("read %x, %v", got, err)
	}
	if got, err := d.MailSecret(t.Context(), "another"); got != nil || err != nil {
		t.Errorf("another account has %x, %v", got, err)
	}
}
