package collab

// Latest returns when the thread was last updated: the latest that its head and its comments say.
func (t *Thread) Latest() Millis {
	latest := t.LastUpdated
	for i := range t.Comments {
		latest = max(latest, t.Comments[i].LastUpdated)
	}
	return latest
}
