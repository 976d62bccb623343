package operator

import (
	"cmp"
	"context"
	"fmt"

	"collabdata/shared/collab"
	"collabdata/shared/store/directory"
)

type deletedIn struct {
	inAccount
	Organization string `arg:"" optional:"" help:"Organization whose folders and documents are listed; without one, the account's organizations."`
	Folder       string `help:"Only what was directly in this folder, or in none: root."`
}

func listDeleted(ctx context.Context, r *Run, p *deletedIn) error {
	r.Title = "Deleted organizations"
	if p.Organization == "" {
		r.aboveAccount(p.Account)
		if _, err := r.accounts.Account(ctx, string(p.Account)); err != nil {
			return err
		}
		return r.addDeleted(ctx, collab.OrganizationRef{Account: string(p.Account)}, "")
	}
	r.Title = "Deleted folders and documents"
	org, err := r.open(ctx, &inOrganization{p.inAccount, id(p.Organization)})
	if err != nil {
		return err
	}
	return r.addDeleted(ctx, org, p.Folder)
}

// addDeletedTo adds to a page about a folder, or an account, what was deleted directly in that: a command lists what is there.
func (r *Run) addDeletedTo(ctx context.Context, in collab.OrganizationRef, folder string) error {
	if r.values == nil {
		return nil
	}
	names := "account"
	if in.Organization != "" {
		names = theOrganization
	}
	all := link("All that was deleted", r.at("/deleted", names))
	if r.enough() {
		r.add(&Part{Links: []Cell{all}})
		return nil
	}
	err := r.addDeleted(ctx, in, folder)
	part := r.Parts[len(r.Parts)-1]
	part.Links = []Cell{all}
	return err
}

// addDeleted adds a list of what can be restored: the folders and documents of an organization that were directly in a folder, or in any
// for "", or the organizations of an account.
func (r *Run) addDeleted(ctx context.Context, in collab.OrganizationRef, folder string) error {
	part := &Part{
		Title: "Deleted, and can be restored", Columns: []string{"Id", "Kind", "Was in", "Name", "Deleted", "Can be restored until", "By request"},
		Empty: "None of what was looked at.",
	}
	read := func(after string, n int) ([]directory.Deleted, string, error) {
		return r.directory.ListDeleted(ctx, in, after, n)
	}
	now := r.directory.Millis()
	return list(r, "deleted", part, pageSize, read, always(func(d directory.Deleted) []Cell {
		if !d.Restorable(now) || folder != "" && d.Folder != folder {
			return nil
		}
		return append(
			row(d.ID, string(d.Kind), r.wasIn(d), d.Name, Time(d.DeletedAt), Time(d.Until), soft(d.Request)), Cell{Offer: r.restore(d)},
		)
	}))
}

// wasIn leads to the folder that something was in.
func (r *Run) wasIn(d directory.Deleted) Cell {
	if d.Folder == collab.RootFolder {
		return r.folder("")
	}
	return r.folder(d.Folder)
}

// restore is the offer to restore something.
func (r *Run) restore(d directory.Deleted) *Offer {
	in := theOrganization
	if d.Kind == collab.AnOrganization {
		in = "account"
	}
	return r.offer(fmt.Sprint(d.Kind, " restore"), "Restore …", in, string(d.Kind), d.ID)
}

// addFoundDeleted adds what has an id and is deleted: in an organization, or for one without an id the organization of its account.
func (r *Run) addFoundDeleted(ctx context.Context, part *Part, in collab.OrganizationRef, id string) error {
	list, err := r.directory.FindDeleted(ctx, in, id)
	for _, d := range list {
		part.Rows = append(part.Rows, row(fmt.Sprintf("%s %s, %s", article(d.Kind), d.Kind, r.howDeleted(d)), id))
		if d.Restorable(r.directory.Millis()) {
			offer := r.restore(d)
			offer.Label = fmt.Sprintf("Restore the %s …", d.Kind)
			part.Offers = append(part.Offers, offer)
		}
	}
	return err
}

func article(kind collab.Thing) string {
	if kind == collab.AnOrganization {
		return "an"
	}
	return "a"
}

// deleted says when and by which request something was deleted.
func deleted(at collab.Millis, request string) string {
	if request == "" {
		return "deleted at " + Time(at).String()
	}
	return "deleted at " + Time(at).String() + " by request " + request
}

// howDeleted says when and by which request something was deleted, and until when it can be restored.
func (r *Run) howDeleted(d directory.Deleted) string {
	says := deleted(d.DeletedAt, d.Request)
	if d.Restorable(r.directory.Millis()) {
		return says + ", which can be restored until " + Time(d.Until).String()
	}
	return says + ", which cannot be restored any more"
}

// missing says of what does not exist that it was deleted, where that is so. Another error, and none, stays as it is.
func (r *Run) missing(ctx context.Context, err error, in collab.OrganizationRef, kind collab.Thing, id string) error {
	if collab.CodeOf(err) != collab.NotFound {
		return err
	}
	list, failed := r.directory.FindDeleted(ctx, in, id)
	for _, d := range list {
		if d.Kind == kind {
			return collab.Errorf(collab.NotFound, "%s: it was %s", Cause(err), r.howDeleted(d))
		}
	}
	return cmp.Or(failed, err)
}
