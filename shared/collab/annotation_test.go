package collab

import "testing"

func TestLatest(t *testing.T) {
	thread := Thread{Annotation: Annotation{LastUpdated: 5}}
	if got := thread.Latest(); got != 5 {
		t.Errorf("without comments: %d", got)
	}
	thread.Comments = []Comment{{LastUpdated: 3}, {LastUpdated: 9}, {LastUpdated: 4}}
	if got := thread.Latest(); got != 9 {
		t.Errorf("a comment is later: %d", got)
	}
	thread.LastUpdated = 12
	if got := thread.Latest(); got != 12 {
		t.Errorf("the head is later: %d", got)
	}
}
