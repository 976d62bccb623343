package operator

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/store/directory"
)

// Names of what an address says where something is.
const (
	theOrganization = "account organization"
	theDocument     = theOrganization + " document"
	theThread       = theDocument + " annotation"
)

func listOrganizations(ctx context.Context, r *Run, p *inAccount) error {
	r.aboveAccount(p.Account)
	r.Title = "Organizations"
	if _, err := r.accounts.Account(ctx, string(p.Account)); err != nil {
		return err
	}
	read := lazily(r, func(after string) iter.Seq2[collab.Organization, error] {
		return r.directory.ListOrganizations(ctx, string(p.Account), after, pageSize)
	}, func(o collab.Organization) string { return o.ID })
	part := &Part{Columns: []string{"Organization", "State", "Created", "Name"}}
	return list(r, "organizations", part, pageSize, read, always(func(o collab.Organization) []Cell {
		return row(link(o.ID, r.at("/organization", "account", "organization", o.ID)), state(o.Disabled), Time(o.CreatedAt), o.Name)
	}))
}

// open returns an organization, disabled or not.
func (r *Run) open(ctx context.Context, p *inOrganization) (collab.OrganizationRef, error) {
	r.aboveAccount(p.Account)
	r.Above = append(r.Above, link(string(p.Organization), r.at("/organization", theOrganization)))
	if _, err := r.accounts.Account(ctx, string(p.Account)); err != nil {
		return collab.OrganizationRef{}, err
	}
	org, err := r.directory.FindOrganization(ctx, string(p.Account), string(p.Organization), false)
	return org, err
}

// opened is an operation on an organization that is there, disabled or not.
func opened[P any, W interface {
	*P
	within() *inOrganization
}](run func(context.Context, *Run, collab.OrganizationRef, *P) error) func(context.Context, *Run, *P) error {
	return func(ctx context.Context, r *Run, p *P) error {
		org, err := r.open(ctx, W(p).within())
		if err != nil {
			return err
		}
		return run(ctx, r, org, p)
	}
}

func showOrganization(ctx context.Context, r *Run, org collab.OrganizationRef, p *inOrganization) error {
	r.Title = "Organization " + org.Organization
	list, err := r.directory.Organizations(ctx, org.Account, []string{org.Organization})
	if err != nil {
		return err
	}
	for _, o := range list {
		part := r.facts(
			"Name", o.Name, "State", state(o.Disabled), "Created", Time(o.CreatedAt), "Changed", Time(o.LastUpdated),
			"Further fields", cmp.Or(string(o.Metadata), "none"),
		)
		part.Links = []Cell{link("Members", r.at("/members", theOrganization))}
		part.Offers = []*Offer{r.offer("organization disable", "Disable it …", theOrganization)}
		if o.Disabled {
			part.Offers = []*Offer{r.offer("organization enable", "Enable it", theOrganization)}
		}
	}
	return r.addContents(ctx, org, collab.RootFolder)
}

// addContents adds what is directly in a folder.
func (r *Run) addContents(ctx context.Context, org collab.OrganizationRef, parent string) error {
	folders := func(after string, n int) ([]collab.Folder, string, error) {
		return r.directory.FoldersIn(ctx, org, parent, after, n)
	}
	part := &Part{Title: "Folders in it", Columns: []string{"Folder", "Access", "Created", "Name"}}
	err := list(r, "folders", part, pageSize, folders, always(func(f collab.Folder) []Cell {
		return row(r.folder(f.ID), access(f.Access), Time(f.CreatedAt), f.Name)
	}))
	if err != nil {
		return err
	}
	documents := after(func(after string, n int) ([]collab.Document, error) {
		return r.directory.DocumentsAfter(ctx, org, parent, after, n)
	}, func(d collab.Document) string { return d.ID })
	part = &Part{Title: "Documents directly in it", Columns: []string{"Document", "Access", "State", "Created", "Name"}}
	return list(r, "documents", part, 3, documents, always(func(d collab.Document) []Cell {
		return row(r.document(d.ID), access(d.Access), state(d.Disabled), Time(d.CreatedAt), d.Name)
	}))
}

// access is an access type, or that it is inherited.
func access(a collab.Access) Cell {
	if a == "" {
		return soft("inherited")
	}
	return Cell{Value: string(a)}
}

// The following lead to what an organization has; "" is nothing.
func (r *Run) folder(id string) Cell   { return r.within("/folder", "folder", id) }
func (r *Run) user(id string) Cell     { return r.within("/user", "user", id) }
func (r *Run) document(id string) Cell { return r.within("/document", "document", id) }
func (r *Run) thread(document, id string) Cell {
	return r.within("/thread", "annotation", id, "document", document)
}

func (r *Run) within(path, name, id string, further ...string) Cell {
	if id == "" {
		return soft("–")
	}
	return link(id, r.at(path, theOrganization, append(further, name, id)...))
}

// setOrganization disables an organization or enables it.
func setOrganization(disabled bool, done string) func(context.Context, *Run, *inOrganization) error {
	return func(ctx context.Context, r *Run, p *inOrganization) error {
		data := map[string]any{"organizationIds": []string{string(p.Organization)}, "disabled": disabled}
		err := r.change(ctx, p.Account, "/v2/organizations/access/disablestate/update", data)
		if err == nil {
			r.facts("Organization", p.Organization, "State", state(disabled))
			r.done(done, p.Organization)
		}
		return err
	}
}

func showFolder(ctx context.Context, r *Run, org collab.OrganizationRef, p *inFolder) error {
	above, err := r.directory.FoldersAbove(ctx, org, []string{string(p.Folder)})
	if err != nil {
		return err
	}
	f, ok := above[string(p.Folder)]
	if !ok {
		return collab.Errorf(collab.NotFound, "folder %q does not exist", p.Folder)
	}
	for _, parent := range slices.Backward(above.Up(f.Parent)) {
		r.Above = append(r.Above, r.folder(parent))
	}
	r.Title = "Folder " + f.ID
	r.facts("Name", f.Name, "Access", access(f.Access), "Created", Time(f.CreatedAt), "Changed", Time(f.LastUpdated))
	return r.addContents(ctx, org, f.ID)
}

func listMembers(ctx context.Context, r *Run, org collab.OrganizationRef, p *inOrganization) error {
	r.Title = "Members"
	read := lazily(r, func(after string) iter.Seq2[collab.Member, error] {
		return r.directory.ListMembers(ctx, org, after, pageSize)
	}, func(m collab.Member) string { return m.UserID })
	part := &Part{Columns: []string{"User", "Role", "Address", "Since", "Name"}}
	return list(r, "members", part, pageSize, read, always(func(m collab.Member) []Cell {
		return row(r.user(m.UserID), string(m.Role), collab.Deref(m.Email), Time(m.CreatedAt), collab.Deref(m.Name))
	}))
}

type aUser struct {
	inOrganization
	User     id     `arg:"" help:"User id."`
	Document string `help:"A document: what the user may do with it, and prefers."`
}

func showUser(ctx context.Context, r *Run, org collab.OrganizationRef, p *aUser) error {
	id := string(p.User)
	r.Title = "User " + id
	found, err := r.directory.Members(ctx, org, []string{id})
	if err != nil {
		return err
	}
	part := r.facts("Member", bad("no"))
	m, member := found[id]
	if member {
		part.Rows = facts(
			"Member since", Time(m.CreatedAt), "Role", string(m.Role), "Name", collab.Deref(m.Name), "Address", collab.Deref(m.Email),
		)
	}
	off, err := r.accounts.Unsubscribed(ctx, org, []collab.User{{UserID: id, Email: m.Email}})
	if err != nil {
		return err
	}
	if off[id] {
		part.Rows = append(part.Rows, row("Mail", bad("has unsubscribed")))
	}
	for _, add := range []func(context.Context, collab.OrganizationRef, *aUser) error{
		r.addPreferences, r.addAccess, r.addHoldings, r.addInbox,
	} {
		if err := add(ctx, org, p); err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) addPreferences(ctx context.Context, org collab.OrganizationRef, u *aUser) error {
	part := &Part{Title: "Preferences", Columns: []string{"For", "Inbox", "Mail", "Others"}}
	r.add(part)
	show := func(of string, p collab.Preferences) {
		var others []string
		for name, value := range p.Further {
			others = append(others, name+": "+string(value))
		}
		slices.Sort(others)
		part.Rows = append(part.Rows, row(of, string(p.Inbox), string(p.Email), strings.Join(others, ", ")))
	}
	p, err := r.directory.OrganizationPreferences(ctx, org, string(u.User))
	show("the organization", p)
	if err == nil && u.Document != "" {
		var of []collab.Preferences
		of, err = r.directory.Preferences(ctx, org, string(u.User), []string{u.Document})
		for _, p := range of {
			show("document "+u.Document, p)
		}
	}
	return err
}

// addAccess says what the user may do with a document.
func (r *Run) addAccess(ctx context.Context, org collab.OrganizationRef, u *aUser) error {
	choose := r.offer("user show", "Show", theOrganization+" user")
	choose.Inputs = []Input{{Name: "document", Label: "Document", Value: u.Document}}
	part := &Part{Title: "Access to a document", Offers: []*Offer{choose}, Empty: "Which document?"}
	r.add(part)
	if u.Document == "" {
		return nil
	}
	a, err := r.accounts.Account(ctx, org.Account)
	if err != nil {
		return err
	}
	of, err := r.directory.Standings(ctx, org, a.Settings.DefaultAccess, []string{string(u.User)}, nil, []string{u.Document})
	if err != nil {
		return err
	}
	with, ok := of.Documents[u.Document]
	if !ok {
		part.Empty = "There is no document " + u.Document + "."
		return nil
	}
	may := bad("may not see it")
	switch g := with.Of(string(u.User)).Grant(r.directory.Millis()); {
	case with.Document.Disabled:
		may = bad("may not see it, like everybody: it is disabled")
	case g != nil && g.Role == collab.RoleViewer:
		may = good("may read it")
	case g != nil:
		may = good("may read and write it")
	}
	part.Rows = facts("Document", r.document(u.Document), "Its access", string(with.Access), "The user", may)
	return nil
}

func (r *Run) addHoldings(ctx context.Context, org collab.OrganizationRef, u *aUser) error {
	part := &Part{Title: "Grants and groups", Columns: []string{"On", "Id", "Role", "Expires"}}
	read := after(func(after string, n int) ([]directory.Held, error) {
		return r.directory.Holdings(ctx, org, string(u.User), after, n)
	}, func(h directory.Held) string { return h.Position })
	return list(r, "holdings", part, pageSize, read, always(func(h directory.Held) []Cell {
		switch expires := Time(h.Expires * 1000); {
		case h.Document != "":
			return row("document", r.document(h.Document), string(h.Role), expires)
		case h.Folder != "":
			return row("folder", r.folder(h.Folder), string(h.Role), expires)
		default:
			return row("group", h.Group, soft("–"), expires)
		}
	}))
}

func (r *Run) addInbox(ctx context.Context, org collab.OrganizationRef, u *aUser) error {
	part := &Part{Title: "Inbox", Columns: []string{"At", "Says", "Document", "Thread", "Read", "Clicked", "For all"}, Empty: "It is empty."}
	user := collab.User{UserID: string(u.User)}
	of := collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: user.UserID}}
	read := func(after string, n int) ([]collab.InboxEntry, string, error) {
		return r.inbox.Notifications(ctx, org, of, after, n)
	}
	return list(r, "inbox", part, 3, read, always(func(e collab.InboxEntry) []Cell {
		says, all := e.RenderHeadline().For(user), soft("no")
		if body := e.BodyFor(user); body != "" {
			says += "\n" + body
		}
		if e.ToAll {
			all = Cell{Value: "yes"}
		}
		thread := r.thread(e.DocumentID, e.AnnotationID)
		return row(Time(e.CreatedAt), says, r.document(e.DocumentID), thread, Time(e.ReadAt), Time(e.ClickedAt), all)
	}))
}

type search struct {
	ID           documentID `arg:"" optional:"" help:"What is looked for."`
	Account      string     `help:"Account to look in, too."`
	Organization string     `help:"Organization to look in, too."`
}

// find looks for an id: of an account or a key, and in an account and an organization.
func find(ctx context.Context, r *Run, p *search) error {
	wanted, acct := string(p.ID), p.Account
	part := &Part{Columns: []string{"It is", "Id"}, Empty: "Nothing that was looked at has it: look in its account or organization."}
	r.add(part)
	if wanted == "" {
		part.Empty = "Which id?"
		return nil
	}
	r.Title = "Find " + wanted
	for _, of := range []struct {
		what, href string
		within     bool // an account
		read       func() error
	}{
		{"an account", address("/account", "account", wanted), false, func() error { _, err := r.accounts.Account(ctx, wanted); return err }},
		{"an API key", address("/key", "key", wanted), false, func() error { _, err := r.accounts.APIKey(ctx, wanted); return err }},
		{"an organization", r.at("/organization", "account", "organization", wanted), true, func() error {
			_, err := r.directory.FindOrganization(ctx, acct, wanted, false)
			return err
		}},
		{"an event", eventAt(acct, wanted), true, func() error {
			_, err := r.outbox.EventBody(ctx, collab.EventRef{Account: acct, ID: wanted})
			return err
		}},
		{"a webhook", r.at("/webhook", "account", "webhook", wanted), true, func() error {
			_, err := r.hooks.Webhook(ctx, acct, wanted)
			return err
		}},
		{"a job", r.at("/job", "account", "job", wanted), true, func() error { _, err := r.outbox.JobProgress(ctx, acct, wanted); return err }},
	} {
		if of.within && acct == "" {
			continue
		}
		if err := of.read(); err == nil {
			part.Rows = append(part.Rows, row(of.what, link(wanted, of.href)))
		} else if collab.CodeOf(err) != collab.NotFound {
			return err
		}
	}
	if acct == "" {
		return nil
	}
	switch in := (&inOrganization{inAccount{id(acct)}, id(p.Organization)}); {
	case p.Organization == "":
		r.aboveAccount(in.Account)
		return nil
	default:
		return r.findWithin(ctx, part, in, wanted)
	}
}

// findWithin looks for an id in an organization.
func (r *Run) findWithin(ctx context.Context, part *Part, in *inOrganization, id string) error {
	org, err := r.open(ctx, in)
	if err != nil {
		return err
	}
	documents, err := r.directory.DocumentsByID(ctx, org, []string{id})
	if err != nil {
		return err
	}
	if len(documents) > 0 {
		part.Rows = append(part.Rows, row("a document", r.document(id)))
	}
	folders, err := r.directory.FoldersAbove(ctx, org, []string{id})
	if err != nil {
		return err
	}
	if _, ok := folders[id]; ok {
		part.Rows = append(part.Rows, row("a folder", r.folder(id)))
	}
	with, err := r.threads.DocumentsWith(ctx, org, id, 5)
	if err != nil {
		return err
	}
	current, err := r.directory.WithDisabled().Current(ctx, org, with)
	if err != nil {
		return err
	}
	for doc := range current {
		what := "a thread in document " + doc.Document
		if _, err := r.head(ctx, doc, id); collab.CodeOf(err) == collab.NotFound {
			what = Cause(err)
		} else if err != nil {
			return err
		}
		part.Rows = append(part.Rows, row(what, r.thread(doc.Document, id)))
	}
	found, err := r.directory.Members(ctx, org, []string{id})
	what := "perhaps a user who is no member"
	if _, ok := found[id]; ok {
		what = "a member"
	}
	part.Rows = append(part.Rows, row(what, r.user(id)))
	return err
}
