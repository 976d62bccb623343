package collab

import "slices"

// Latest returns when the thread was last updated: the latest that its head and its comments say.
func (t *Thread) Latest() Millis {
	latest := t.LastUpdated
	for i := range t.Comments {
		latest = max(latest, t.Comments[i].LastUpdated)
	}
	return latest
}

// Authors returns the user ids of those who wrote the comments, each once, in the order of their first one.
func Authors(comments []Comment) []string {
	var ids []string
	for i := range comments {
		if id := comments[i].AuthorID; id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
