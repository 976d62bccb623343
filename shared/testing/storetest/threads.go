package storetest

import (
	"fmt"

	"collabdata/shared/collab"
)

// User returns a user with only an id, as JSON.
func User(id string) collab.JSON { return collab.JSON(fmt.Sprintf(`{"userId":%q}`, id)) }

// Comment returns a comment by author at a time. If the id is 0, the store generates one.
func Comment(author string, id int64, at collab.Millis) collab.Comment {
	return collab.Comment{ID: id, Text: new("hello"), From: User(author), AuthorID: author, CreatedAt: at, LastUpdated: at}
}

// Thread returns an open annotation by creator at the time 1000, with comments 1 to n.
func Thread(id, creator string, n int) *collab.Thread {
	t := &collab.Thread{Annotation: collab.Annotation{
		ID: id, From: User(creator), CreatorID: creator, Status: collab.JSON(`{"id":"OPEN"}`), StatusID: "OPEN", CreatedAt: 1_000, LastUpdated: 1_000,
	}}
	for i := range n {
		t.Comments = append(t.Comments, Comment(creator, int64(i+1), 1_000))
	}
	return t
}

// ByAgent gives the first comment of an annotation an agent, as JSON.
func ByAgent(t *collab.Thread, agent string) {
	t.ByAgent, t.Comments[0].Agent = true, collab.JSON(agent)
}
