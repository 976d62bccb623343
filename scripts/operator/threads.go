package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store/inbox"
)

// openDocument returns a document, disabled or not.
func (r *Run) openDocument(ctx context.Context, p *inDocument) (d collab.Document, doc collab.DocumentRef, err error) {
	org, err := r.open(ctx, &p.inOrganization)
	if err != nil {
		return d, doc, err
	}
	list, err := r.directory.DocumentsByID(ctx, org, []string{string(p.Document)})
	if err == nil && len(list) == 0 {
		err = collab.Errorf(collab.NotFound, "document %q does not exist", p.Document)
	}
	if err != nil {
		return d, doc, err
	}
	r.Above = append(r.Above, r.document(list[0].ID))
	return list[0], list[0].Ref(org), nil
}

func showDocument(ctx context.Context, r *Run, p *inDocument) error {
	d, doc, err := r.openDocument(ctx, p)
	if err != nil {
		return err
	}
	r.Title = "Document " + d.ID
	in := Cell{Value: "none"}
	if d.Folder != collab.RootFolder {
		in = r.folder(d.Folder)
	}
	r.facts(
		"Name", d.Name, "In folder", in, "Access", access(d.Access), "State", state(d.Disabled),
		"Created", Time(d.CreatedAt), "Changed", Time(d.LastUpdated), "Further fields", cmp.Or(string(d.Metadata), "none"),
	)
	part := &Part{Title: "Threads", Columns: []string{"Thread", "Status", "By", "Assigned to", "Created", "Changed"}}
	read := func(after string, n int) ([]collab.Annotation, string, error) {
		return r.threads.Heads(ctx, doc, after, n)
	}
	return list(r, "threads", part, 5, read, always(func(a collab.Annotation) []Cell {
		by, to := person(a.From), person(a.AssignedTo)
		return row(r.thread(d.ID, a.ID), a.StatusID, by, to, Time(a.CreatedAt), Time(a.LastUpdated))
	}))
}

// openThread returns an annotation.
func (r *Run) openThread(ctx context.Context, p *inThread) (a collab.Annotation, doc collab.DocumentRef, err error) {
	if _, doc, err = r.openDocument(ctx, &p.inDocument); err != nil {
		return a, doc, err
	}
	r.Above = append(r.Above, r.thread(doc.Document, string(p.Annotation)))
	a, err = r.head(ctx, doc, string(p.Annotation))
	return a, doc, err
}

// head reads an annotation without its comments. NOT_FOUND says when and by which request it was deleted, as far as that is known.
func (r *Run) head(ctx context.Context, doc collab.DocumentRef, id string) (a collab.Annotation, err error) {
	if a, err = r.threads.Head(ctx, doc, id); collab.CodeOf(err) != collab.NotFound {
		return a, err
	}
	at, request, failed := r.threads.FindDeleted(ctx, doc, id)
	if at != 0 {
		err = collab.Errorf(collab.NotFound, "%s: it was %s", Cause(err), deleted(at, request))
	}
	return a, cmp.Or(failed, err)
}

// deleted says when and by which request something was deleted.
func deleted(at collab.Millis, request string) string {
	if request == "" {
		return "deleted at " + Time(at).String()
	}
	return "deleted at " + Time(at).String() + " by request " + request
}

func showThread(ctx context.Context, r *Run, p *inThread) error {
	a, doc, err := r.openThread(ctx, p)
	if err != nil {
		return err
	}
	r.Title = "Thread " + a.ID
	part := r.facts("By", person(a.From), "Created", Time(a.CreatedAt), "Changed", Time(a.LastUpdated))
	part.Links = []Cell{link("Events of the thread", r.at("/events", theThread))}
	for _, f := range []struct {
		name  string
		value collab.JSON
	}{
		{"Status", a.Status}, {"Assigned to", a.AssignedTo}, {"Place", a.TargetElement}, {"Location", a.Location}, {"Priority", a.Priority},
		{"Context", a.Context}, {"Further fields", a.Kept},
	} {
		if f.value != nil {
			part.Rows = append(part.Rows, row(f.name, string(f.value)))
		}
	}
	part = &Part{
		Title: "Comments", Columns: []string{"By", "At", "Text", "Who was notified", "Comment"},
		Note: "Who was notified is looked up by the time of a comment: where one was added with another time, see the events of the thread.",
	}
	read := lazily(r, func(after string) iter.Seq2[collab.Comment, error] {
		id, _ := strconv.ParseInt(after, 10, 64) // from the start for anything else
		return r.threads.ListComments(ctx, doc, a.ID, id, pageSize)
	}, func(c collab.Comment) string { return fmt.Sprint(c.ID) })
	return list(r, "comments", part, pageSize, read, func(c collab.Comment) ([]Cell, error) {
		content := strings.TrimSpace(collab.Deref(c.Text) + "\n" + collab.Deref(c.HTML))
		for _, tag := range collab.Tags(c.TaggedUserContacts) {
			if tag.Contact != nil {
				content = strings.ReplaceAll(content, "{{"+tag.UserID+"}}", tag.Contact.DisplayName())
			}
		}
		for _, further := range []collab.JSON{c.Attachments, c.Context} {
			if further != nil {
				content += "\n" + string(further)
			}
		}
		notified, err := r.notifiedOf(ctx, doc, a.ID, c)
		return row(person(c.From), Time(c.CreatedAt), content, notified, c.ID), err
	})
}

// notifiedOf says who was notified of a comment, by the events of the moment at which it was made.
func (r *Run) notifiedOf(ctx context.Context, doc collab.DocumentRef, ann string, c collab.Comment) (Cell, error) {
	for _, at := range []collab.Millis{c.CreatedAt, c.ID / 1000} { // a generated id is a time in microseconds
		if r.enough() {
			return soft("see the events"), nil
		}
		of := collab.NotificationQuery{Of: doc, Earliest: true}
		list, _, err := r.inbox.Notifications(ctx, doc.OrganizationRef, of, keys.Time(at), 3)
		if err != nil {
			return Cell{}, err
		}
		for _, n := range list {
			if n.AnnotationID == ann && n.CreatedAt == at {
				who, err := r.recipients(ctx, doc.Account, n)
				return link(who, eventAt(doc.Account, n.ID)), err
			}
		}
	}
	return soft("–"), nil
}

// recipients says whom the event of a notification reached, and how.
func (r *Run) recipients(ctx context.Context, account string, n collab.InboxEntry) (string, error) {
	if r.enough() {
		return "see the event", nil
	}
	page, err := r.inbox.RecipientPage(ctx, collab.EventRef{Account: account, ID: n.ID}, "")
	if err != nil || page == nil { // not worked out yet, or forgotten
		return strings.Join(n.To, ", "), err
	}
	var who []string
	for _, to := range page.Recipients[:min(len(page.Recipients), 5)] {
		who = append(who, to.UserID+" ("+channels(to)+")")
	}
	if len(page.Recipients) > len(who) || page.Next != "" {
		who = append(who, "and others")
	}
	return strings.Join(who, ", "), nil
}

func channels(r inbox.Recipient) string {
	switch {
	case r.Inbox && r.Mail:
		return "inbox, mail"
	case r.Mail:
		return "mail"
	}
	return "inbox"
}

func listThreadEvents(ctx context.Context, r *Run, p *inThread) error {
	a, doc, err := r.openThread(ctx, p)
	if err != nil {
		return err
	}
	r.Title = "Events of thread " + a.ID
	part := &Part{
		Title: "Events that notified people", Columns: []string{"At", "Event", "By", "Says", "Notified"},
		Note:  "They are looked for among the notifications of the document, newest first.",
		Empty: "None of these is of this thread.",
	}
	read := func(after string, n int) ([]collab.InboxEntry, string, error) {
		return r.inbox.Notifications(ctx, doc.OrganizationRef, collab.NotificationQuery{Of: doc}, after, n)
	}
	if err := list(r, "events", part, 3, read, func(n collab.InboxEntry) ([]Cell, error) {
		if n.AnnotationID != a.ID {
			return nil, nil
		}
		who, err := r.recipients(ctx, doc.Account, n)
		says := n.RenderHeadline().For(collab.User{})
		return row(Time(n.CreatedAt), link(n.ID, eventAt(doc.Account, n.ID)), named(n.ActionUser), says, who), err
	}); err != nil {
		return err
	}
	hooks, err := r.hooks.Endpoints(ctx, doc.Account)
	part = &Part{
		Title: "Events that notified nobody", Columns: []string{"Look through the deliveries of"}, Empty: "The account has no webhooks.",
		Note: "They are found among what webhooks were posted.",
	}
	for _, h := range hooks {
		part.Rows = append(part.Rows, row(link(h.ID, r.at("/webhook", "account annotation", "webhook", h.ID))))
	}
	r.add(part)
	return err
}

// person names a user of the contract by name and id.
func person(object collab.JSON) string {
	var u collab.User
	if len(object) == 0 || json.Unmarshal(object, &u) != nil {
		return ""
	}
	return named(u)
}

func named(u collab.User) string {
	if name := u.DisplayName(); name != u.UserID {
		return name + " (" + u.UserID + ")"
	}
	return u.UserID
}
