package console

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"collabdata/scripts/operator"
	"collabdata/shared/collab"
	"collabdata/shared/quota"
	"collabdata/shared/store/directory"
)

// entry is one kind of page. load fills it, and takes no more than MaxUnits.
type entry struct {
	path   string // below Path
	title  string
	params string // ids that its address must have
	load   func(ctx context.Context, v *view) error
}

const (
	inAccount      = "account"
	inOrganization = "account organization"
	inDocument     = "account organization document"
	inThread       = "account organization document annotation"
)

var pages = []entry{
	{"", "Accounts", "", accounts},
	{"/find", "Find", "", find},
	{"/account", "Account", inAccount, account},
	{"/key", "API key", "key", key},
	{"/organizations", "Organizations", inAccount, organizations},
	{"/organization", "Organization", inOrganization, organization},
	{"/members", "Members", inOrganization, members},
	{"/folder", "Folder", inOrganization + " folder", folder},
	{"/document", "Document", inDocument, document},
	{"/thread", "Thread", inThread, thread},
	{"/events", "Events of a thread", inThread, threadEvents},
	{"/user", "User", inOrganization + " user", user},
	{"/event", "Event", "account event", event},
	{"/webhooks", "Webhooks", inAccount, webhookList},
	{"/webhook", "Webhook", "account webhook", webhookPage},
	{"/delivery", "Delivery", "account webhook event", delivered},
	{"/pending", "Pending", "", pending},
	{"/quarantine", "Quarantine", "", quarantine},
	{"/dead-letters", "Dead letters", "", deadLetters},
	{"/job", "Job", "account job", job},
}

func accounts(ctx context.Context, v *view) error {
	s := &section{Columns: []string{"Account", "State", "Created", "Name"}, Empty: "There is none yet: admin account create makes one."}
	read := behind(func(after string, n int) ([]collab.Account, error) { return v.Directory.Accounts(ctx, after, n) },
		func(a collab.Account) string { return a.ID })
	return addList(v, "accounts", s, pageSize, read, always(func(a collab.Account) []cell {
		return row(accountLink(a.ID), state(a.Disabled), clock(a.CreatedAt), text(a.Name))
	}))
}

func (v *view) inAccount() { v.crumb(v.Get("account"), v.at("/account", inAccount)) }

func account(ctx context.Context, v *view) error {
	a, err := v.Directory.Account(ctx, v.Get("account"))
	if err != nil {
		return err
	}
	v.Title = "Account " + a.ID
	toggle := v.ask("account/disable", "Disable it …", inAccount)
	if a.Disabled {
		toggle = v.ask("account/enable", "Enable it", inAccount)
	}
	v.facts([][]cell{
		fact("Name", text(a.Name)), fact("State", state(a.Disabled)), fact("Created", clock(a.CreatedAt)),
		fact("Look at", link("Organizations", v.at("/organizations", inAccount))), fact("", link("Webhooks", v.at("/webhooks", inAccount))),
	}, toggle)
	if err := v.addKeys(ctx); err != nil {
		return err
	}
	if err := v.addQuotas(ctx, a); err != nil {
		return err
	}
	return v.addSettings(ctx)
}

func (v *view) addKeys(ctx context.Context) error {
	further := v.ask("key/create", "Make an API key …", inAccount)
	s := &section{Title: "API keys", Columns: []string{"Key", "Valid tokens"}, Forms: []form{further}}
	read := behind(func(after string, n int) ([]string, error) {
		return v.Directory.APIKeys(ctx, v.Get("account"), after, n)
	},
		func(k string) string { return k })
	return addList(v, "keys", s, pageSize, read, func(k string) ([]cell, error) {
		of, err := v.Directory.APIKey(ctx, k)
		valid := slices.DeleteFunc(of.Tokens, func(t collab.Token) bool { return !operator.Valid(t, v.Directory.Now()) })
		return row(link(k, at("/key", "key", k)), number(len(valid))), err
	})
}

// kinds are the quotas as the pages name them.
var kinds = [quota.Kinds]string{quota.Writes: "Write units", quota.Reads: "Read units", quota.Events: "Events", quota.Mails: "Mails"}

func (v *view) addQuotas(ctx context.Context, a collab.Account) error {
	paid, err := v.Directory.Paid(ctx, a.ID)
	s := &section{Title: "Use of its quotas", Columns: []string{"Of", "Used", "Most", "Within", "Must wait"}}
	v.add(s)
	now := v.Directory.Now()
	for k, limit := range quota.Of(a.Settings) {
		if limit.Most == 0 {
			s.Rows = append(s.Rows, row(text(kinds[k]), soft("–"), text("unlimited"), soft("–"), soft("–")))
			continue
		}
		until := time.UnixMilli(paid[k])
		used := float64(max(0, until.Sub(now))) / float64(limit.Per) * float64(limit.Most)
		wait := soft("no")
		if left := limit.Wait(until, now); left > 0 {
			wait = bad(span(left))
		}
		s.Rows = append(s.Rows, row(text(kinds[k]), text(fmt.Sprintf("%.0f", used)), number(limit.Most), text(span(limit.Per)), wait))
	}
	return err
}

func (v *view) addSettings(ctx context.Context) error {
	settings, err := operator.ReadSettings(ctx, v.Directory, v.Get("account"))
	s := &section{Title: "Settings", Columns: []string{"Setting", "Value"}}
	v.add(s)
	for _, setting := range (operator.Rules{}).Settings() {
		f := v.ask("settings", "Change …", inAccount, "setting", setting.Name)
		f.Inputs = []input{{Name: "value", Label: setting.Name, Value: setting.Get(settings), Values: setting.Values}}
		if setting.Name == operator.ProviderSetting {
			f.Inputs = append(f.Inputs, input{Name: "secret", Label: "its bearer secret", Kind: "password"})
		}
		s.Rows = append(s.Rows, row(text(setting.Name), cell{Form: &f}))
	}
	return err
}

func key(ctx context.Context, v *view) error {
	k, err := v.Directory.APIKey(ctx, v.Get("key"))
	if err != nil {
		return err
	}
	v.values.Set("account", k.Account) // an id is looked for in it
	v.inAccount()
	v.Title = "API key " + k.Key
	s := &section{
		Title: "Tokens", Columns: []string{"Hash begins with", "State", "Created", "Expires"},
		Forms: []form{v.ask("key/delete", "Delete the API key …", "key")},
	}
	v.add(s)
	for _, t := range k.Tokens {
		is := good("valid")
		if !operator.Valid(t, v.Directory.Now()) {
			is = soft("expired")
		}
		s.Rows = append(s.Rows, row(text(operator.TokenName(t)), is, clock(t.CreatedAt), clock(t.Expires)))
	}
	return nil
}

func organizations(ctx context.Context, v *view) error {
	v.inAccount()
	acct := v.Get("account")
	if _, err := v.Directory.Account(ctx, acct); err != nil {
		return err
	}
	read := lazily(v, func(after string) iter.Seq2[collab.Organization, error] {
		return v.Directory.ListOrganizations(ctx, acct, after, pageSize)
	}, func(o collab.Organization) string { return o.ID })
	s := &section{Columns: []string{"Organization", "State", "Created", "Name"}}
	return addList(v, "organizations", s, pageSize, read, always(func(o collab.Organization) []cell {
		return row(link(o.ID, v.at("/organization", inAccount, "organization", o.ID)), state(o.Disabled), clock(o.CreatedAt), text(o.Name))
	}))
}

// open returns the organization that the address names, disabled or not.
func (v *view) open(ctx context.Context) (collab.OrganizationRef, error) {
	v.inAccount()
	v.crumb(v.Get("organization"), v.at("/organization", inOrganization))
	return v.Directory.FindOrganization(ctx, v.Get("account"), v.Get("organization"), false)
}

func organization(ctx context.Context, v *view) error {
	org, err := v.open(ctx)
	if err != nil {
		return err
	}
	v.Title = "Organization " + org.Organization
	list, err := v.Directory.Organizations(ctx, org.Account, []string{org.Organization})
	for _, o := range list {
		toggle := v.ask("organization/disable", "Disable it …", inOrganization)
		if o.Disabled {
			toggle = v.ask("organization/enable", "Enable it", inOrganization)
		}
		v.facts([][]cell{
			fact("Name", text(o.Name)), fact("State", state(o.Disabled)), fact("Created", clock(o.CreatedAt)), fact("Changed", clock(o.LastUpdated)),
			fact("Further fields", text(string(o.Metadata))), fact("Look at", link("Members", v.at("/members", inOrganization))),
		}, toggle)
	}
	if err != nil {
		return err
	}
	return v.addContents(ctx, org, collab.RootFolder)
}

// addContents adds what is directly in a folder.
func (v *view) addContents(ctx context.Context, org collab.OrganizationRef, parent string) error {
	s := &section{Title: "Folders in it", Columns: []string{"Folder", "Access", "Created", "Name"}}
	folders := func(after string, n int) ([]collab.Folder, string, error) {
		return v.Directory.FoldersIn(ctx, org, parent, after, n)
	}
	if err := addList(v, "folders", s, pageSize, folders, always(func(f collab.Folder) []cell {
		return row(v.folder(f.ID), access(f.Access), clock(f.CreatedAt), text(f.Name))
	})); err != nil {
		return err
	}
	s = &section{Title: "Documents directly in it", Columns: []string{"Document", "Access", "State", "Created", "Name"}}
	documents := behind(func(after string, n int) ([]collab.Document, error) {
		return v.Directory.DocumentsBehind(ctx, org, parent, after, n)
	},
		func(d collab.Document) string { return d.ID })
	return addList(v, "documents", s, 3, documents, always(func(d collab.Document) []cell {
		return row(v.document(d.ID), access(d.Access), state(d.Disabled), clock(d.CreatedAt), text(d.Name))
	}))
}

// access is an access type, or that it is inherited.
func access(a collab.Access) cell {
	if a == "" {
		return soft("inherited")
	}
	return text(string(a))
}

// The following lead to what an organization has.
func (v *view) folder(id string) cell { return link(id, v.at("/folder", inOrganization, "folder", id)) }
func (v *view) user(id string) cell   { return link(id, v.at("/user", inOrganization, "user", id)) }
func (v *view) document(id string) cell {
	if id == "" {
		return soft("–")
	}
	return link(id, v.at("/document", inOrganization, "document", id))
}
func (v *view) thread(document, id string) cell {
	if id == "" {
		return soft("–")
	}
	return link(id, v.at("/thread", inOrganization, "document", document, "annotation", id))
}

func folder(ctx context.Context, v *view) error {
	org, err := v.open(ctx)
	if err != nil {
		return err
	}
	id := v.Get("folder")
	above, err := v.Directory.FoldersAbove(ctx, org, []string{id})
	if err != nil {
		return err
	}
	f, ok := above[id]
	if !ok {
		return collab.Errorf(collab.NotFound, "folder %q does not exist", id)
	}
	for _, parent := range slices.Backward(above.Up(f.Parent)) {
		v.Crumbs = append(v.Crumbs, v.folder(parent))
	}
	v.Title = "Folder " + id
	v.facts([][]cell{
		fact("Name", text(f.Name)), fact("Access", access(f.Access)), fact("Created", clock(f.CreatedAt)), fact("Changed", clock(f.LastUpdated)),
	})
	return v.addContents(ctx, org, id)
}

func members(ctx context.Context, v *view) error {
	org, err := v.open(ctx)
	if err != nil {
		return err
	}
	read := lazily(v, func(after string) iter.Seq2[collab.Member, error] {
		return v.Directory.ListMembers(ctx, org, after, pageSize)
	},
		func(m collab.Member) string { return m.UserID })
	s := &section{Columns: []string{"User", "Role", "Address", "Since", "Name"}}
	return addList(v, "members", s, pageSize, read, always(func(m collab.Member) []cell {
		return row(v.user(m.UserID), text(string(m.Role)), text(collab.Deref(m.Email)), clock(m.CreatedAt), text(collab.Deref(m.Name)))
	}))
}

func user(ctx context.Context, v *view) error {
	org, err := v.open(ctx)
	if err != nil {
		return err
	}
	id := v.Get("user")
	v.Title = "User " + id
	found, err := v.Directory.Members(ctx, org, []string{id})
	if err != nil {
		return err
	}
	facts := [][]cell{fact("Member", bad("no"))}
	m, member := found[id]
	if member {
		facts = [][]cell{
			fact("Member since", clock(m.CreatedAt)), fact("Role", text(string(m.Role))), fact("Name", text(collab.Deref(m.Name))),
			fact("Address", text(collab.Deref(m.Email))),
		}
	}
	off, err := v.Directory.Unsubscribed(ctx, org, []collab.User{{UserID: id, Email: m.Email}})
	if err != nil {
		return err
	}
	if off[id] {
		facts = append(facts, fact("Mail", bad("has unsubscribed")))
	}
	v.facts(facts)
	for _, f := range []func(context.Context, collab.OrganizationRef, string) error{v.addPreferences, v.addAccess, v.addHoldings, v.addInbox} {
		if err := f(ctx, org, id); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) addPreferences(ctx context.Context, org collab.OrganizationRef, user string) error {
	s := &section{Title: "Preferences", Columns: []string{"For", "Inbox", "Mail", "Others"}}
	v.add(s)
	show := func(of string, p collab.Preferences) {
		var others []string
		for name, value := range p.Further {
			others = append(others, name+": "+string(value))
		}
		slices.Sort(others)
		s.Rows = append(s.Rows, row(text(of), text(string(p.Inbox)), text(string(p.Email)), text(strings.Join(others, ", "))))
	}
	p, err := v.Directory.OrganizationPreferences(ctx, org, user)
	show("the organization", p)
	if document := v.Get("document"); err == nil && document != "" {
		var of []collab.Preferences
		of, err = v.Directory.Preferences(ctx, org, user, []string{document})
		for _, p := range of {
			show("document "+document, p)
		}
	}
	return err
}

// addAccess says what the user may do with a document that the address names.
func (v *view) addAccess(ctx context.Context, org collab.OrganizationRef, user string) error {
	id := v.Get("document")
	choose := v.filter(inOrganization+" user", input{Name: "document", Label: "Document", Value: id})
	s := &section{Title: "Access to a document", Forms: []form{choose}, Empty: "Which document?"}
	v.add(s)
	if id == "" {
		return nil
	}
	a, err := v.Directory.Account(ctx, org.Account)
	if err != nil {
		return err
	}
	of, err := v.Directory.Standings(ctx, org, a.Settings.DefaultAccess, []string{user}, nil, []string{id})
	if err != nil {
		return err
	}
	with, ok := of.Documents[id]
	if !ok {
		s.Empty = "There is no document " + id + "."
		return nil
	}
	may := bad("may not see it")
	switch g := with.Of(user).Grant(v.Directory.Millis()); {
	case with.Document.Disabled:
		may = bad("may not see it, like everybody: it is disabled")
	case g != nil && g.Role == collab.RoleViewer:
		may = good("may read it")
	case g != nil:
		may = good("may read and write it")
	}
	s.Rows = [][]cell{fact("Document", v.document(id)), fact("Its access", text(string(with.Access))), fact("The user", may)}
	return nil
}

func (v *view) addHoldings(ctx context.Context, org collab.OrganizationRef, user string) error {
	s := &section{Title: "Grants and groups", Columns: []string{"On", "Id", "Role", "Expires"}}
	read := behind(func(after string, n int) ([]directory.Held, error) {
		return v.Directory.Holdings(ctx, org, user, after, n)
	},
		func(h directory.Held) string { return h.Position })
	return addList(v, "holdings", s, pageSize, read, always(func(h directory.Held) []cell {
		switch expires := clock(h.Expires * 1000); {
		case h.Document != "":
			return row(text("document"), v.document(h.Document), text(string(h.Role)), expires)
		case h.Folder != "":
			return row(text("folder"), v.folder(h.Folder), text(string(h.Role)), expires)
		default:
			return row(text("group"), text(h.Group), soft("–"), expires)
		}
	}))
}

func (v *view) addInbox(ctx context.Context, org collab.OrganizationRef, user string) error {
	s := &section{Title: "Inbox", Columns: []string{"At", "Says", "Document", "Thread", "Read", "Clicked", "For all"}, Empty: "It is empty."}
	of := collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: user}}
	read := func(after string, n int) ([]collab.InboxEntry, string, error) {
		return v.outbox.Notifications(ctx, org, of, after, n)
	}
	return addList(v, "inbox", s, 3, read, always(func(e collab.InboxEntry) []cell {
		says, all := e.RenderHeadline().For(collab.User{UserID: user}), soft("no")
		if body := e.BodyFor(collab.User{UserID: user}); body != "" {
			says += "\n" + body
		}
		if e.ToAll {
			all = text("yes")
		}
		thread := v.thread(e.DocumentID, e.AnnotationID)
		return row(clock(e.CreatedAt), text(says), v.document(e.DocumentID), thread, clock(e.ReadAt), clock(e.ClickedAt), all)
	}))
}

// find looks for an id: of an account or a key, and in what the address names beside it.
func find(ctx context.Context, v *view) error {
	id, acct := v.Get("id"), v.Get("account")
	s := &section{Columns: []string{"It is", "Id"}, Empty: "Nothing that was looked at has it: look in its account or organization."}
	v.add(s)
	if id == "" {
		s.Empty = "Which id?"
		return nil
	}
	if err := collab.CheckID(id, collab.MaxDocumentID); err != nil {
		return collab.Errorf(collab.InvalidArgument, "id %v", err)
	}
	v.Title = "Find " + id
	if acct != "" {
		v.inAccount()
	}
	for _, of := range []struct {
		what, href string
		within     bool // of an account
		read       func() error
	}{
		{"an account", at("/account", "account", id), false, func() error { _, err := v.Directory.Account(ctx, id); return err }},
		{"an API key", at("/key", "key", id), false, func() error { _, err := v.Directory.APIKey(ctx, id); return err }},
		{"an organization", v.at("/organization", inAccount, "organization", id), true, func() error {
			_, err := v.Directory.FindOrganization(ctx, acct, id, false)
			return err
		}},
		{"an event", eventAt(acct, id), true, func() error {
			_, err := v.outbox.EventBody(ctx, collab.EventRef{Account: acct, ID: id})
			return err
		}},
		{"a webhook", v.at("/webhook", inAccount, "webhook", id), true, func() error { _, err := v.outbox.Webhook(ctx, acct, id); return err }},
		{"a job", v.at("/job", inAccount, "job", id), true, func() error { _, err := v.outbox.JobProgress(ctx, acct, id); return err }},
	} {
		if of.within && acct == "" {
			continue
		}
		err := of.read()
		if err == nil {
			s.Rows = append(s.Rows, row(text(of.what), link(id, of.href)))
		} else if collab.CodeOf(err) != collab.NotFound {
			return err
		}
	}
	if v.Get("organization") == "" || acct == "" {
		return nil
	}
	v.Crumbs = nil
	return v.findWithin(ctx, s, id)
}

// findWithin looks for an id in an organization.
func (v *view) findWithin(ctx context.Context, s *section, id string) error {
	org, err := v.open(ctx)
	if err != nil {
		return err
	}
	documents, err := v.Directory.DocumentsByID(ctx, org, []string{id})
	if err != nil {
		return err
	}
	if len(documents) > 0 {
		s.Rows = append(s.Rows, row(text("a document"), v.document(id)))
	}
	folders, err := v.Directory.FoldersAbove(ctx, org, []string{id})
	if err != nil {
		return err
	}
	if _, ok := folders[id]; ok {
		s.Rows = append(s.Rows, row(text("a folder"), v.folder(id)))
	}
	in, err := v.threads.DocumentsWith(ctx, org, id, 5)
	if err != nil {
		return err
	}
	current, err := present{v.Directory}.Current(ctx, org, in)
	if err != nil {
		return err
	}
	for doc := range current {
		s.Rows = append(s.Rows, row(text("a thread in document "+doc.Document), v.thread(doc.Document, id)))
	}
	found, err := v.Directory.Members(ctx, org, []string{id})
	what := "perhaps a user who is no member"
	if _, ok := found[id]; ok {
		what = "a member"
	}
	s.Rows = append(s.Rows, row(text(what), v.user(id)))
	return err
}
