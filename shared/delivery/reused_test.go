package delivery_test

import (
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
)

// TestReusedAccount checks that an account with the id of a deleted one inherits nothing: no
// endpoint, permission provider, secret or event.
func TestReusedAccount(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true))
	r := receive(t, nil)
	a.webhook("hook", r.URL+"/before")
	a.provider("https://before.example/permissions", "secret")
	w.did(w.db.Accounts.KeepMailSecret(t.Context(), a.id, []byte("secret")))
	before := a.comment("thread", a.user("bob"))
	a.change(func(c *collab.Account) { c.Disabled = true })
	w.must(w.start().take(t.Context(), event(before)))
	w.must(w.db.Outbox.Delete(t.Context(), keys.Organization(a.id, "org")))
	w.must(w.db.Accounts.DeleteAccount(t.Context(), a.id))
	w.add(time.Minute)
	w.add(time.Hour)
	w.must(w.start().take(t.Context(), event(before)))
	if work := w.work(before); work == nil || len(a.inbox("bob")) != 0 {
		t.Errorf("of a deleted account: pending %+v", work)
	}
	w.must(w.db.Accounts.AddAccount(t.Context(), collab.Account{ID: a.id, CreatedAt: w.millis()}))
	var err error
	a.doc, err = w.db.Directory.OpenDocument(t.Context(), a.id, "org", "doc", collab.CreateFlags{Organization: true, Document: true})
	w.must(err)
	after := a.comment("thread", a.user("cid"))
	w.run(after)
	if len(r.posts()) != 0 || len(a.mailsTo("bob")) != 0 || len(a.inbox("bob")) != 0 || w.work(before) != nil {
		t.Errorf("of the account before: posts %v, mails %v, inbox %v, pending %+v", r.posts(), a.mailsTo("bob"), a.inbox("bob"), w.work(before))
	}
	if len(a.mailsTo("cid")) != 1 || len(a.inbox("cid")) != 1 {
		t.Errorf("of the account after: mails %v, inbox %v", a.mailsTo("cid"), a.inbox("cid"))
	}
	if p, err := w.db.Accounts.PermissionProvider(t.Context(), a.id); p != nil || err != nil {
		t.Errorf("permission provider %+v, %v", p, err)
	}
	if secret, err := w.db.Accounts.MailSecret(t.Context(), a.id); string(secret) == "secret" || err != nil {
		t.Errorf("mail secret %q, %v", secret, err)
	}
}
