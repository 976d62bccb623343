package delivery_test

import (
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
)

// TestReusedAccount: an account under the id of one that was deleted has nothing of that one, which waits for nobody any more: no endpoint,
// no permission provider, no secret, and no event.
func TestReusedAccount(t *testing.T) {
	w := newWorld(t)
	a := w.account(grouping(true))
	r := receive(t, nil)
	change := func(change func(*collab.Account)) {
		_, err := w.accounts.ChangeAccount(t.Context(), a.id, func(c *collab.Account) error { change(c); return nil })
		w.must(err)
	}
	a.webhook("hook", r.URL+"/before")
	a.provider("https://before.example/permissions", "secret")
	_, err := w.accounts.KeepMailSecret(t.Context(), a.id, []byte("secret"))
	w.must(err)
	before := a.comment("thread", a.user("bob"))
	change(func(c *collab.Account) { c.Disabled = true })
	w.must(w.start().Event(t.Context(), event(before))) // it is parked
	w.must(w.outbox.Delete(t.Context(), keys.Organization(a.id, "org")))
	w.must(w.accounts.DeleteAccount(t.Context(), a.id))
	w.add(time.Minute)
	w.must(w.accounts.AddAccount(t.Context(), collab.Account{ID: a.id, CreatedAt: w.millis()}))
	a.doc, err = w.directory.OpenDocument(t.Context(), a.id, "org", "doc", collab.CreateFlags{Organization: true, Document: true})
	w.must(err)
	after := a.comment("thread", a.user("cid"))
	w.send(after)
	w.settle(w.start())
	if len(r.posts()) != 0 || len(a.mailsTo("bob")) != 0 || len(a.inbox("bob")) != 0 || w.work(before) != nil {
		t.Errorf("of the account before: posts %v, mails %v, inbox %v, pending %+v", r.posts(), a.mailsTo("bob"), a.inbox("bob"), w.work(before))
	}
	if len(a.mailsTo("cid")) != 1 || len(a.inbox("cid")) != 1 {
		t.Errorf("of the account after: mails %v, inbox %v", a.mailsTo("cid"), a.inbox("cid"))
	}
	if p, err := w.accounts.PermissionProvider(t.Context(), a.id); p != nil || err != nil {
		t.Errorf("permission provider %+v, %v", p, err)
	}
	if secret, err := w.accounts.MailSecret(t.Context(), a.id); string(secret) == "secret" || err != nil {
		t.Errorf("mail secret %q, %v", secret, err)
	}
}
