package console

import (
	"context"
	"strconv"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/store/outbox"
	"collabdata/shared/table"
)

func document(ctx context.Context, v *view) error {
	d, doc, err := v.openDocument(ctx)
	if err != nil {
		return err
	}
	v.title = "Document " + d.ID
	in := text("the top")
	if d.Folder != collab.RootFolder {
		in = link(d.Folder, v.at("/folder", inOrganization, "folder", d.Folder))
	}
	v.add(&section{Rows: [][]cell{
		fact("Name", text(d.Name)), fact("In folder", in), fact("Access", access(d.Access)), fact("State", state(d.Disabled)),
		fact("Created", clock(d.CreatedAt)), fact("Changed", clock(d.LastUpdated)), fact("Further fields", text(string(d.Metadata))),
	}})
	list, next, err := collect(v, "after", 5, func(after string, n int) ([]collab.Annotation, string, error) {
		return v.threads.Heads(ctx, doc, after, n)
	})
	s := &section{
		Title: "Threads", ID: "threads", Columns: []string{"Thread", "Status", "By", "Assigned to", "Created", "Changed"}, Empty: "There is none.",
		More: v.with("/document", "after", next),
	}
	for _, a := range list {
		s.Rows = append(s.Rows, row(v.thread(d.ID, a.ID), text(a.StatusID), text(person(a.From)), text(person(a.AssignedTo)), clock(a.CreatedAt), clock(a.LastUpdated)))
	}
	v.add(s)
	return err
}

const inThread = inDocument + " annotation"

// openThread returns the annotation that the address names.
func (v *view) openThread(ctx context.Context) (a collab.Annotation, doc collab.DocumentRef, err error) {
	_, doc, err = v.openDocument(ctx)
	if err != nil {
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
	v.title = "Thread " + a.ID
	facts := [][]cell{fact("By", text(person(a.From))), fact("Created", clock(a.CreatedAt)), fact("Changed", clock(a.LastUpdated))}
	for _, f := range []struct {
		name  string
		value collab.JSON
	}{{"Status", a.Status}, {"Assigned to", a.AssignedTo}, {"Place", a.TargetElement}, {"Location", a.Location}, {"Priority", a.Priority}, {"Context", a.Context}, {"Further fields", a.Kept}} {
		if f.value != nil {
			facts = append(facts, fact(f.name, text(string(f.value))))
		}
	}
	v.add(&section{Rows: append(facts, fact("Look at", link("Events of the thread", v.at("/events", inThread))))})
	after, _ := strconv.ParseInt(v.Get("after"), 10, 64)
	list, next, err := take(v, v.threads.ListComments(ctx, doc, a.ID, after, pageSize), func(c collab.Comment) string { return strconv.FormatInt(c.ID, 10) })
	if err != nil {
		return err
	}
	s := &section{
		Title: "Comments", ID: "comments", Columns: []string{"Comment", "By", "At", "Text", "Who was told"}, Empty: "There is none.", More: v.with("/thread", "after", next),
		Note: "Who was told is looked up by the time of a comment: of one that was added with a time of its own, the events of the thread say it.",
	}
	v.add(s)
	for _, c := range list {
		content := strings.TrimSpace(collab.Deref(c.Text) + "\n" + collab.Deref(c.HTML))
		for _, further := range []collab.JSON{c.Attachments, c.Context} {
			if further != nil {
				content += "\n" + string(further)
			}
		}
		told, err := v.told(ctx, doc, a.ID, c)
		if err != nil {
			return err
		}
		s.Rows = append(s.Rows, row(text(strconv.FormatInt(c.ID, 10)), text(person(c.From)), clock(c.CreatedAt), text(content), told))
	}
	return nil
}

// told says who was told of a comment, by the events of the moment at which it was made.
func (v *view) told(ctx context.Context, doc collab.DocumentRef, ann string, c collab.Comment) (cell, error) {
	for _, at := range []collab.Millis{c.CreatedAt, c.ID / 1000} { // a generated id is a time in microseconds
		if v.enough() {
			return soft("see the events"), nil
		}
		list, _, err := v.outbox.Notifications(ctx, doc.OrganizationRef, collab.NotificationQuery{Of: doc, Earliest: true}, table.Time(at), 3)
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

func eventAt(account, event string) string { return at("/event", "account", account, "event", event) }

// recipients says whom the event of a notification reached, and how.
func (v *view) recipients(ctx context.Context, n collab.InboxEntry) (string, error) {
	if n.ToAll {
		return "everyone", nil
	}
	page, err := v.outbox.RecipientPage(ctx, collab.EventRef{Account: v.Get("account"), ID: n.ID}, "")
	if err != nil {
		return "", err
	}
	if page == nil { // not worked out yet, or forgotten
		return strings.Join(n.To, ", "), nil
	}
	var who []string
	for _, r := range page.Recipients[:min(len(page.Recipients), 5)] {
		who = append(who, r.UserID+" ("+channels(r)+")")
	}
	if more := len(page.Recipients) - len(who); more > 0 || page.Next != "" {
		who = append(who, "and others")
	}
	return strings.Join(who, ", "), nil
}

func channels(r outbox.Recipient) string {
	var by []string
	if r.Inbox {
		by = append(by, "inbox")
	}
	if r.Mail {
		by = append(by, "mail")
	}
	return strings.Join(by, ", ")
}

func threadEvents(ctx context.Context, v *view) error {
	a, doc, err := v.openThread(ctx)
	if err != nil {
		return err
	}
	v.title = "Events of thread " + a.ID
	list, next, err := collect(v, "after", 3, func(after string, n int) ([]collab.InboxEntry, string, error) {
		return v.outbox.Notifications(ctx, doc.OrganizationRef, collab.NotificationQuery{Of: doc}, after, n)
	})
	if err != nil {
		return err
	}
	s := &section{
		Title: "Events that told people", ID: "events", Columns: []string{"At", "Event", "By", "Says", "Told"}, More: v.with("/events", "after", next),
		Note:  "Of the notifications of the document, newest first, those of this thread: " + strconv.Itoa(len(list)) + " were looked at.",
		Empty: "None of these is of this thread.",
	}
	v.add(s)
	for _, n := range list {
		if n.AnnotationID != a.ID {
			continue
		}
		who := "see the event"
		if !v.enough() {
			if who, err = v.recipients(ctx, n); err != nil {
				return err
			}
		}
		s.Rows = append(s.Rows, row(clock(n.CreatedAt), link(n.ID, eventAt(doc.Account, n.ID)), text(named(n.ActionUser)), text(n.RenderHeadline().For(collab.User{})), text(who)))
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
