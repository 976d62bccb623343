package console

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store/outbox"
)

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
	v.Crumbs = append(v.Crumbs, v.document(id))
	return list[0], list[0].Ref(org), nil
}

func document(ctx context.Context, v *view) error {
	d, doc, err := v.openDocument(ctx)
	if err != nil {
		return err
	}
	v.Title = "Document " + d.ID
	in := text("none")
	if d.Folder != collab.RootFolder {
		in = v.folder(d.Folder)
	}
	v.facts([][]cell{
		fact("Name", text(d.Name)), fact("In folder", in), fact("Access", access(d.Access)), fact("State", state(d.Disabled)),
		fact("Created", clock(d.CreatedAt)), fact("Changed", clock(d.LastUpdated)), fact("Further fields", text(string(d.Metadata))),
	})
	s := &section{Title: "Threads", Columns: []string{"Thread", "Status", "By", "Assigned to", "Created", "Changed"}}
	read := func(after string, n int) ([]collab.Annotation, string, error) {
		return v.threads.Heads(ctx, doc, after, n)
	}
	return addList(v, "threads", s, 5, read, always(func(a collab.Annotation) []cell {
		by, to := text(person(a.From)), text(person(a.AssignedTo))
		return row(v.thread(d.ID, a.ID), text(a.StatusID), by, to, clock(a.CreatedAt), clock(a.LastUpdated))
	}))
}

// openThread returns the annotation that the address names.
func (v *view) openThread(ctx context.Context) (a collab.Annotation, doc collab.DocumentRef, err error) {
	if _, doc, err = v.openDocument(ctx); err != nil {
		return a, doc, err
	}
	v.crumb(v.Get("annotation"), v.at("/thread", inThread))
	a, err = v.threads.Head(ctx, doc, v.Get("annotation"))
	return a, doc, err
}

func thread(ctx context.Context, v *view) error {
	a, doc, err := v.openThread(ctx)
	if err != nil {
		return err
	}
	v.Title = "Thread " + a.ID
	facts := [][]cell{fact("By", text(person(a.From))), fact("Created", clock(a.CreatedAt)), fact("Changed", clock(a.LastUpdated))}
	for _, f := range []struct {
		name  string
		value collab.JSON
	}{
		{"Status", a.Status}, {"Assigned to", a.AssignedTo}, {"Place", a.TargetElement}, {"Location", a.Location}, {"Priority", a.Priority},
		{"Context", a.Context}, {"Further fields", a.Kept},
	} {
		if f.value != nil {
			facts = append(facts, fact(f.name, text(string(f.value))))
		}
	}
	v.facts(append(facts, fact("Look at", link("Events of the thread", v.at("/events", inThread)))))
	s := &section{
		Title: "Comments", Columns: []string{"By", "At", "Text", "Who was told", "Comment"},
		Note: "Who was told is looked up by the time of a comment: where one was added with another time, see the events of the thread.",
	}
	read := lazily(v, func(after string) iter.Seq2[collab.Comment, error] {
		return v.threads.ListComments(ctx, doc, a.ID, atoi(after), pageSize)
	}, func(c collab.Comment) string { return fmt.Sprint(c.ID) })
	return addList(v, "comments", s, pageSize, read, func(c collab.Comment) ([]cell, error) {
		content := strings.TrimSpace(collab.Deref(c.Text) + "\n" + collab.Deref(c.HTML))
		for _, further := range []collab.JSON{c.Attachments, c.Context} {
			if further != nil {
				content += "\n" + string(further)
			}
		}
		told, err := v.told(ctx, doc, a.ID, c)
		return row(text(person(c.From)), clock(c.CreatedAt), text(content), told, number(c.ID)), err
	})
}

// told says who was told of a comment, by the events of the moment at which it was made.
func (v *view) told(ctx context.Context, doc collab.DocumentRef, ann string, c collab.Comment) (cell, error) {
	for _, at := range []collab.Millis{c.CreatedAt, c.ID / 1000} { // a generated id is a time in microseconds
		if v.enough() {
			return soft("see the events"), nil
		}
		of := collab.NotificationQuery{Of: doc, Earliest: true}
		list, _, err := v.outbox.Notifications(ctx, doc.OrganizationRef, of, keys.Time(at), 3)
		if err != nil {
			return cell{}, err
		}
		for _, n := range list {
			if n.AnnotationID == ann && n.CreatedAt == at {
				who, err := v.recipients(ctx, n)
				return link(who, eventAt(doc.Account, n.ID)), err
			}
		}
	}
	return soft("–"), nil
}

// recipients says whom the event of a notification reached, and how.
func (v *view) recipients(ctx context.Context, n collab.InboxEntry) (string, error) {
	if v.enough() {
		return "see the event", nil
	}
	page, err := v.outbox.RecipientPage(ctx, collab.EventRef{Account: v.Get("account"), ID: n.ID}, "")
	if err != nil || page == nil { // not worked out yet, or forgotten
		return strings.Join(n.To, ", "), err
	}
	var who []string
	for _, r := range page.Recipients[:min(len(page.Recipients), 5)] {
		who = append(who, r.UserID+" ("+channels(r)+")")
	}
	if len(page.Recipients) > len(who) || page.Next != "" {
		who = append(who, "and others")
	}
	return strings.Join(who, ", "), nil
}

func channels(r outbox.Recipient) string {
	switch {
	case r.Inbox && r.Mail:
		return "inbox, mail"
	case r.Mail:
		return "mail"
	}
	return "inbox"
}

func threadEvents(ctx context.Context, v *view) error {
	a, doc, err := v.openThread(ctx)
	if err != nil {
		return err
	}
	v.Title = "Events of thread " + a.ID
	s := &section{
		Title: "Events that told people", Columns: []string{"At", "Event", "By", "Says", "Told"}, Empty: "None of these is of this thread.",
		Note: "They are looked for among the notifications of the document, newest first.",
	}
	read := func(after string, n int) ([]collab.InboxEntry, string, error) {
		return v.outbox.Notifications(ctx, doc.OrganizationRef, collab.NotificationQuery{Of: doc}, after, n)
	}
	if err := addList(v, "events", s, 3, read, func(n collab.InboxEntry) ([]cell, error) {
		if n.AnnotationID != a.ID {
			return nil, nil
		}
		who, err := v.recipients(ctx, n)
		says := n.RenderHeadline().For(collab.User{})
		return row(clock(n.CreatedAt), link(n.ID, eventAt(doc.Account, n.ID)), text(named(n.ActionUser)), text(says), text(who)), err
	}); err != nil {
		return err
	}
	hooks, err := v.outbox.Endpoints(ctx, doc.Account)
	s = &section{
		Title: "Events that told nobody", Columns: []string{"Look through the deliveries of"}, Empty: "The account has no webhooks.",
		Note: "They are found among what webhooks were posted.",
	}
	for _, h := range hooks {
		s.Rows = append(s.Rows, row(link(h.ID, v.at("/webhook", "account annotation", "webhook", h.ID))))
	}
	v.add(s)
	return err
}
