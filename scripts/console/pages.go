package console

import (
	"cmp"
	"context"
	"fmt"
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
	params []string // ids that its address must have
	load   func(ctx context.Context, v *view) error
}

var pages = []entry{
	{"", "Accounts", nil, accounts},
	{"/find", "Find", nil, find},
	{"/account", "Account", []string{"account"}, account},
	{"/key", "API key", []string{"key"}, key},
	{"/organizations", "Organizations", []string{"account"}, organizations},
	{"/organization", "Organization", []string{"account", "organization"}, organization},
	{"/members", "Members", []string{"account", "organization"}, members},
	{"/folder", "Folder", []string{"account", "organization", "folder"}, folder},
	{"/document", "Document", []string{"account", "organization", "document"}, document},
	{"/thread", "Thread", []string{"account", "organization", "document", "annotation"}, thread},
	{"/events", "Events of a thread", []string{"account", "organization", "document", "annotation"}, threadEvents},
	{"/user", "User", []string{"account", "organization", "user"}, user},
	{"/event", "Event", []string{"account", "event"}, event},
	{"/webhooks", "Webhooks", []string{"account"}, webhookList},
	{"/webhook", "Deliveries", []string{"account", "webhook"}, webhookPage},
	{"/delivery", "Delivery", []string{"account", "webhook", "event"}, delivered},
	{"/pending", "Pending", nil, pending},
	{"/quarantine", "Quarantine", nil, quarantine},
	{"/dead-letters", "Dead letters", nil, deadLetters},
	{"/job", "Job", []string{"account", "job"}, job},
}

func accounts(ctx context.Context, v *view) error {
	list, next, err := collect(v, "after", pageSize, func(after string, n int) ([]collab.Account, string, error) {
		list, err := v.Directory.Accounts(ctx, after, n)
		return list, last(list, n, func(a collab.Account) string { return a.ID }), err
	})
	s := &section{
		ID: "accounts", Columns: []string{"Account", "State", "Created", "Name"}, More: v.with("", "after", next),
		Empty: "There is none yet: admin account create makes one.",
	}
	for _, a := range list {
		s.Rows = append(s.Rows, row(link(a.ID, at("/account", "account", a.ID)), state(a.Disabled), clock(a.CreatedAt), text(a.Name)))
	}
	v.add(s)
	return err
}

func (v *view) inAccount() { v.crumb(v.Get("account"), v.at("/account", "account")) }

func account(ctx context.Context, v *view) error {
	a, err := v.Directory.Account(ctx, v.Get("account"))
	if err != nil {
		return err
	}
	v.title = "Account " + a.ID
	toggle := v.ask("account/disable", "Disable it …", "account")
	if a.Disabled {
		toggle = v.ask("account/enable", "Enable it", "account")
	}
	v.add(&section{Rows: [][]cell{
		fact("Name", text(a.Name)), fact("State", state(a.Disabled)), fact("Created", clock(a.CreatedAt)),
		fact("Look at", link("Organizations", v.at("/organizations", "account"))), fact("", link("Webhooks", v.at("/webhooks", "account"))),
	}, Forms: []form{toggle}})
	if err := v.addKeys(ctx); err != nil {
		return err
	}
	if err := v.addQuotas(ctx, a); err != nil {
		return err
	}
	return v.addSettings(ctx)
}

func (v *view) addKeys(ctx context.Context) error {
	list, next, err := collect(v, "key", pageSize, func(after string, n int) ([]string, string, error) {
		list, err := v.Directory.APIKeys(ctx, v.Get("account"), after, n)
		return list, last(list, n, func(k string) string { return k }), err
	})
	s := &section{
		Title: "API keys", ID: "keys", Columns: []string{"Key", "Valid tokens"}, More: v.with("/account", "key", next), Empty: "There is none yet.",
		Forms: []form{v.ask("key/create", "Make an API key …", "account")},
	}
	for _, k := range list {
		of, err := v.Directory.APIKey(ctx, k)
		if err != nil {
			return err
		}
		valid := slices.DeleteFunc(of.Tokens, func(t collab.Token) bool { return !operator.Valid(t, v.Directory.Now()) })
		s.Rows = append(s.Rows, row(link(k, at("/key", "key", k)), number(len(valid))))
	}
	v.add(s)
	return err
}

// kinds are the quotas as the pages name them.
var kinds = [quota.Kinds]string{quota.Writes: "Write units", quota.Reads: "Read units", quota.Events: "Events", quota.Mails: "Mails"}

func (v *view) addQuotas(ctx context.Context, a collab.Account) error {
	paid, err := v.Directory.Paid(ctx, a.ID)
	s := &section{Title: "Use of its quotas", Columns: []string{"Of", "Used", "Most", "Within", "Must wait"}}
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
			wait = cell{Text: left.Round(time.Second).String(), Class: "bad"}
		}
		s.Rows = append(s.Rows, row(text(kinds[k]), text(fmt.Sprintf("%.0f", used)), text(fmt.Sprint(limit.Most)), text(span(limit.Per)), wait))
	}
	v.add(s)
	return err
}

func (v *view) addSettings(ctx context.Context) error {
	settings, err := operator.ReadSettings(ctx, v.Directory, v.Get("account"))
	s := &section{Title: "Settings", Columns: []string{"Setting", "Value"}}
	for _, setting := range (operator.Rules{}).Settings() {
		value := setting.Get(settings)
		f := v.ask("settings", "Change …", "account", "setting", setting.Name)
		f.Inputs = []input{{Name: "value", Label: setting.Name, Value: value, Values: setting.Values}}
		if setting.Name == operator.ProviderSetting {
			f.Inputs = append(f.Inputs, input{Name: "secret", Label: "its bearer secret", Kind: "password"})
		}
		s.Rows = append(s.Rows, row(text(setting.Name), button(f)))
	}
	v.add(s)
	return err
}

func key(ctx context.Context, v *view) error {
	k, err := v.Directory.APIKey(ctx, v.Get("key"))
	if err != nil {
		return err
	}
	v.values.Set("account", k.Account) // an id is looked for in it
	v.inAccount()
	v.title = "API key " + k.Key
	s := &section{
		Title: "Tokens", Columns: []string{"Hash begins with", "State", "Created", "Expires"}, Empty: "It has none.",
		Forms: []form{v.ask("key/delete", "Delete the API key …", "key")},
	}
	for _, t := range k.Tokens {
		is := cell{Text: "valid", Class: "good"}
		if !operator.Valid(t, v.Directory.Now()) {
			is = soft("expired")
		}
		s.Rows = append(s.Rows, row(text(operator.TokenName(t)), is, clock(t.CreatedAt), clock(t.Expires)))
	}
	v.add(s)
	return nil
}

func organizations(ctx context.Context, v *view) error {
	v.inAccount()
	acct := v.Get("account")
	if _, err := v.Directory.Account(ctx, acct); err != nil {
		return err
	}
	list, next, err := take(v, v.Directory.ListOrganizations(ctx, acct, v.Get("after"), pageSize), func(o collab.Organization) string { return o.ID })
	s := &section{ID: "organizations", Columns: []string{"Organization", "State", "Created", "Name"}, Empty: "There is none.", More: v.with("/organizations", "after", next)}
	for _, o := range list {
		s.Rows = append(s.Rows, row(link(o.ID, at("/organization", "account", acct, "organization", o.ID)), state(o.Disabled), clock(o.CreatedAt), text(o.Name)))
	}
	v.add(s)
	return err
}

const inOrganization = "account organization"

// open returns the organization that the address names, disabled or not.
func (v *view) open(ctx context.Context) (collab.OrganizationRef, error) {
	v.inAccount()
	v.crumb(v.Get("organization"), v.at("/organization", inOrganization))
	return v.Directory.FindOrganization(ctx, v.Get("account"), v.Get("organization"), false)
}

// openDocument returns the document that the address names, disabled or not.
func (v *view) openDocument(ctx context.Context) (d collab.Document, doc collab.DocumentRef, err error) {
	org, err := v.open(ctx)
	if err != nil {
		return d, doc, err
	}
	id := v.Get("document")
	list, err := v.Directory.DocumentsByID(ctx, org, []string{id})
	if err == nil && len(list) == 0 {
		err = collab.Errorf(collab.NotFound, "document %q does not exist", id)
	}
	if err != nil {
		return d, doc, err
	}
	v.crumb(id, v.at("/document", inDocument))
	return list[0], list[0].Ref(org), nil
}

const inDocument = inOrganization + " document"

func organization(ctx context.Context, v *view) error {
	org, err := v.open(ctx)
	if err != nil {
		return err
	}
	v.title = "Organization " + org.Organization
	list, err := v.Directory.Organizations(ctx, org.Account, []string{org.Organization})
	if err != nil || len(list) == 0 {
		return cmp.Or(err, error(collab.Errorf(collab.NotFound, "organization %q does not exist", org.Organization)))
	}
	o := list[0]
	toggle := v.ask("organization/disable", "Disable it …", inOrganization)
	if o.Disabled {
		toggle = v.ask("organization/enable", "Enable it", inOrganization)
	}
	v.add(&section{Rows: [][]cell{
		fact("Name", text(o.Name)), fact("State", state(o.Disabled)), fact("Created", clock(o.CreatedAt)), fact("Changed", clock(o.LastUpdated)),
		fact("Further fields", text(string(o.Metadata))), fact("Look at", link("Members", v.at("/members", inOrganization))),
	}, Forms: []form{toggle}})
	return v.addContents(ctx, org, collab.RootFolder, "/organization")
}

// addContents adds what is directly in a folder.
func (v *view) addContents(ctx context.Context, org collab.OrganizationRef, parent, path string) error {
	folders, next, err := collect(v, "folders", pageSize, func(after string, n int) ([]collab.Folder, string, error) {
		return v.Directory.FoldersIn(ctx, org, parent, after, n)
	})
	if err != nil {
		return err
	}
	s := &section{Title: "Folders in it", ID: "folders", Columns: []string{"Folder", "Access", "Created", "Name"}, Empty: "There is none.", More: v.with(path, "folders", next)}
	for _, f := range folders {
		s.Rows = append(s.Rows, row(link(f.ID, v.at("/folder", inOrganization, "folder", f.ID)), access(f.Access), clock(f.CreatedAt), text(f.Name)))
	}
	v.add(s)
	documents, next, err := collect(v, "documents", 3, func(after string, n int) ([]collab.Document, string, error) {
		list, err := v.Directory.DocumentsBehind(ctx, org, parent, after, n)
		return list, last(list, n, func(d collab.Document) string { return d.ID }), err
	})
	s = &section{Title: "Documents directly in it", ID: "documents", Columns: []string{"Document", "Access", "State", "Created", "Name"}, Empty: "There is none.", More: v.with(path, "documents", next)}
	for _, d := range documents {
		s.Rows = append(s.Rows, row(link(d.ID, v.at("/document", inOrganization, "document", d.ID)), access(d.Access), state(d.Disabled), clock(d.CreatedAt), text(d.Name)))
	}
	v.add(s)
	return err
}

// access is an access type, or that it is inherited.
func access(a collab.Access) cell {
	if a == "" {
		return soft("inherited")
	}
	return text(string(a))
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
		v.crumb(parent, v.at("/folder", inOrganization, "folder", parent))
	}
	v.title = "Folder " + id
	v.add(&section{Rows: [][]cell{fact("Name", text(f.Name)), fact("Access", access(f.Access)), fact("Created", clock(f.CreatedAt)), fact("Changed", clock(f.LastUpdated))}})
	return v.addContents(ctx, org, id, "/folder")
}

func members(ctx context.Context, v *view) error {
	org, err := v.open(ctx)
	if err != nil {
		return err
	}
	list, next, err := take(v, v.Directory.ListMembers(ctx, org, v.Get("after"), pageSize), func(m collab.Member) string { return m.UserID })
	s := &section{ID: "members", Columns: []string{"User", "Role", "Address", "Since", "Name"}, Empty: "There is none.", More: v.with("/members", "after", next)}
	for _, m := range list {
		s.Rows = append(s.Rows, row(v.user(m.UserID), text(string(m.Role)), text(collab.Deref(m.Email)), clock(m.CreatedAt), text(collab.Deref(m.Name))))
	}
	v.add(s)
	return err
}

// user leads to a user's page.
func (v *view) user(id string) cell { return link(id, v.at("/user", inOrganization, "user", id)) }

func user(ctx context.Context, v *view) error {
	org, err := v.open(ctx)
	if err != nil {
		return err
	}
	id := v.Get("user")
	v.title = "User " + id
	found, err := v.Directory.Members(ctx, org, []string{id})
	if err != nil {
		return err
	}
	m, member := found[id]
	facts := [][]cell{fact("Member", cell{Text: "no", Class: "bad"})}
	if member {
		facts = [][]cell{fact("Member", clock(m.CreatedAt)), fact("Role", text(string(m.Role))), fact("Name", text(collab.Deref(m.Name))), fact("Address", text(collab.Deref(m.Email)))}
	}
	off, err := v.Directory.Unsubscribed(ctx, org, []collab.User{{UserID: id, Email: m.Email}})
	if err != nil {
		return err
	}
	if off[id] {
		facts = append(facts, fact("Mail", cell{Text: "has unsubscribed", Class: "bad"}))
	}
	v.add(&section{Rows: facts})
	for _, f := range []func(context.Context, collab.OrganizationRef, string) error{v.addPreferences, v.addAccess, v.addHoldings, v.addInbox} {
		if err := f(ctx, org, id); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) addPreferences(ctx context.Context, org collab.OrganizationRef, user string) error {
	p, err := v.Directory.OrganizationPreferences(ctx, org, user)
	if err != nil {
		return err
	}
	s := &section{Title: "Preferences", Columns: []string{"For", "Inbox", "Mail", "Others"}, Rows: [][]cell{preferences("the organization", p)}}
	if document := v.Get("document"); document != "" {
		of, err := v.Directory.Preferences(ctx, org, user, []string{document})
		if err != nil {
			return err
		}
		s.Rows = append(s.Rows, preferences("document "+document, of[0]))
	}
	v.add(s)
	return nil
}

func preferences(of string, p collab.Preferences) []cell {
	var others []string
	for name, value := range p.Further {
		others = append(others, name+": "+string(value))
	}
	slices.Sort(others)
	return row(text(of), text(string(p.Inbox)), text(string(p.Email)), text(strings.Join(others, ", ")))
}

// addAccess says what the user may do with a document that the address names.
func (v *view) addAccess(ctx context.Context, org collab.OrganizationRef, user string) error {
	id := v.Get("document")
	choose := form{Action: Path + "/user", Label: "Show", Get: true, Inputs: []input{{Name: "document", Label: "Document", Value: id}}}
	for _, name := range []string{"account", "organization", "user"} {
		choose.Hidden = append(choose.Hidden, [2]string{name, v.Get(name)})
	}
	s := &section{Title: "Access to a document", Forms: []form{choose}}
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
		s.Bad = "There is no document " + id + "."
		return nil
	}
	may := cell{Text: "may not see it", Class: "bad"}
	switch g := with.Of(user).Grant(v.Directory.Millis()); {
	case with.Document.Disabled:
		may.Text = "nobody may see it: it is disabled"
	case g != nil && g.Role == collab.RoleViewer:
		may = cell{Text: "may read it", Class: "good"}
	case g != nil:
		may = cell{Text: "may read and write it", Class: "good"}
	}
	s.Rows = [][]cell{fact("Document", link(id, v.at("/document", inOrganization, "document", id))), fact("Its access", text(string(with.Access))), fact("The user", may)}
	return nil
}

func (v *view) addHoldings(ctx context.Context, org collab.OrganizationRef, user string) error {
	list, next, err := collect(v, "held", pageSize, func(after string, n int) ([]directory.Held, string, error) {
		list, err := v.Directory.Holdings(ctx, org, user, after, n)
		return list, last(list, n, func(h directory.Held) string { return h.Position }), err
	})
	s := &section{Title: "Grants and groups", ID: "holdings", Columns: []string{"On", "Id", "Role", "Expires"}, Empty: "There is none.", More: v.with("/user", "held", next)}
	for _, h := range list {
		on := row(text("group"), text(h.Group), soft("–"))
		switch {
		case h.Document != "":
			on = row(text("document"), link(h.Document, v.at("/document", inOrganization, "document", h.Document)), text(string(h.Role)))
		case h.Folder != "":
			on = row(text("folder"), link(h.Folder, v.at("/folder", inOrganization, "folder", h.Folder)), text(string(h.Role)))
		}
		s.Rows = append(s.Rows, append(on, clock(h.Expires*1000)))
	}
	v.add(s)
	return err
}

func (v *view) addInbox(ctx context.Context, org collab.OrganizationRef, user string) error {
	list, next, err := collect(v, "after", 3, func(after string, n int) ([]collab.InboxEntry, string, error) {
		return v.outbox.Notifications(ctx, org, collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: user}}, after, n)
	})
	s := &section{Title: "Inbox", ID: "inbox", Columns: []string{"At", "Says", "Document", "Thread", "Read", "Clicked", "For all"}, Empty: "It is empty.", More: v.with("/user", "after", next)}
	for _, e := range list {
		says := e.RenderHeadline().For(collab.User{UserID: user})
		if body := e.BodyFor(collab.User{UserID: user}); body != "" {
			says += "\n" + body
		}
		all := soft("no")
		if e.ToAll {
			all = text("yes")
		}
		s.Rows = append(s.Rows, row(clock(e.CreatedAt), text(says), v.document(e.DocumentID), v.thread(e.DocumentID, e.AnnotationID), clock(e.ReadAt), clock(e.ClickedAt), all))
	}
	v.add(s)
	return err
}

// document leads to a document's page.
func (v *view) document(id string) cell {
	if id == "" {
		return soft("–")
	}
	return link(id, v.at("/document", inOrganization, "document", id))
}

// thread leads to a thread's page.
func (v *view) thread(document, id string) cell {
	if id == "" {
		return soft("–")
	}
	return link(id, v.at("/thread", inOrganization, "document", document, "annotation", id))
}

// find looks for an id: of an account or a key, and in what the address names beside it.
func find(ctx context.Context, v *view) error {
	id, acct, org := v.Get("id"), v.Get("account"), v.Get("organization")
	s := &section{Columns: []string{"It is", "Id"}, Empty: "Nothing that was looked at has this id. Open the account or the organization that it is in, and look there."}
	v.add(s)
	if id == "" {
		s.Empty = "Which id?"
		return nil
	}
	if err := collab.CheckID(id, collab.MaxDocumentID); err != nil {
		return collab.Errorf(collab.InvalidArgument, "id %v", err)
	}
	v.title = "Find " + id
	found := func(err error, what, href string) error {
		if err == nil {
			s.Rows = append(s.Rows, row(text(what), link(id, href)))
		}
		if collab.CodeOf(err) == collab.NotFound {
			return nil
		}
		return err
	}
	_, err := v.Directory.Account(ctx, id)
	if err := found(err, "an account", at("/account", "account", id)); err != nil {
		return err
	}
	_, err = v.Directory.APIKey(ctx, id)
	if err := found(err, "an API key", at("/key", "key", id)); err != nil || acct == "" {
		return err
	}
	v.inAccount()
	_, err = v.Directory.FindOrganization(ctx, acct, id, false)
	if err := found(err, "an organization", at("/organization", "account", acct, "organization", id)); err != nil {
		return err
	}
	_, err = v.outbox.EventBody(ctx, collab.EventRef{Account: acct, ID: id})
	if err := found(err, "an event", at("/event", "account", acct, "event", id)); err != nil {
		return err
	}
	_, err = v.outbox.Webhook(ctx, acct, id)
	if err := found(err, "a webhook", at("/webhook", "account", acct, "webhook", id)); err != nil {
		return err
	}
	_, err = v.outbox.JobProgress(ctx, acct, id)
	if err := found(err, "a job", at("/job", "account", acct, "job", id)); err != nil || org == "" {
		return err
	}
	return v.findWithin(ctx, s, id)
}

// findWithin looks for an id in an organization.
func (v *view) findWithin(ctx context.Context, s *section, id string) error {
	org, err := v.open(ctx)
	if err != nil {
		return err
	}
	add := func(what, href string) { s.Rows = append(s.Rows, row(text(what), link(id, href))) }
	documents, err := v.Directory.DocumentsByID(ctx, org, []string{id})
	if err != nil {
		return err
	}
	if len(documents) > 0 {
		add("a document", v.at("/document", inOrganization, "document", id))
	}
	folders, err := v.Directory.FoldersAbove(ctx, org, []string{id})
	if err != nil {
		return err
	}
	if _, ok := folders[id]; ok {
		add("a folder", v.at("/folder", inOrganization, "folder", id))
	}
	found, err := v.Directory.Members(ctx, org, []string{id})
	if err != nil {
		return err
	}
	if _, ok := found[id]; ok {
		add("a member", v.at("/user", inOrganization, "user", id))
	}
	in, err := v.threads.DocumentsWith(ctx, org, id, 5)
	if err != nil {
		return err
	}
	current, err := present{v.Directory}.Current(ctx, org, in)
	if err != nil {
		return err
	}
	for _, doc := range in {
		if !current[doc] {
			continue
		}
		add("a thread in document "+doc.Document, v.at("/thread", inOrganization, "document", doc.Document, "annotation", id))
	}
	add("perhaps a user that is no member", v.at("/user", inOrganization, "user", id))
	return nil
}

// span is a length of time as people say it.
func span(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%.0f hours", d.Hours())
	case d >= 2*time.Minute:
		return fmt.Sprintf("%.0f minutes", d.Minutes())
	}
	return fmt.Sprintf("%.0f seconds", d.Seconds())
}
