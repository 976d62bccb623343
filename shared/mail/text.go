package mail

import "collabdata/shared/collab"

// Text returns what a comment says as plain text: HTML without its markup, and tags as names.
func Text(c collab.EventComment) string {
	var t templates
	if collab.Deref(c.HTML) != "" && collab.Deref(c.Text) == "" {
		t.policy = newPolicy()
	} else {
		c.HTML = nil
	}
	return t.comment(c).Text
}
