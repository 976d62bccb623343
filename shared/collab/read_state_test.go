package collab

import "testing"

func TestReadBefore(t *testing.T) {
	for _, test := range []struct {
		name             string
		document, thread ReadState
		want             Millis
	}{
		{"nothing said", ReadState{}, ReadState{}, 0},
		{"the document read", ReadState{10, 9}, ReadState{}, 10},
		{"the thread read", ReadState{}, ReadState{10, 9}, 10},
		{"the thread read, then the document", ReadState{20, 19}, ReadState{10, 9}, 20},
		{"the document read, then the thread", ReadState{10, 9}, ReadState{20, 19}, 20},
		{"the document read to a later time than the thread, which was read after it", ReadState{30, 9}, ReadState{20, 19}, 30},
		{"the document read, then the thread unread", ReadState{10, 9}, ReadState{0, 19}, 0},
		{"the thread unread, then the document read", ReadState{20, 19}, ReadState{0, 9}, 20},
		{"the thread read, then the document unread", ReadState{0, 19}, ReadState{10, 9}, 0},
		{"the document unread, then the thread read", ReadState{0, 9}, ReadState{20, 19}, 20},
		{"both at one time", ReadState{20, 19}, ReadState{0, 19}, 0},
	} {
		if got := ReadBefore(test.document, test.thread); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestUnreadBy(t *testing.T) {
	thread := &Thread{Comments: []Comment{{ID: 1, AuthorID: "ann", CreatedAt: 10}, {ID: 2, AuthorID: "bob", CreatedAt: 0}}}
	thread.LastUpdated = 30
	for _, test := range []struct {
		user      string
		since     Millis
		truncated bool
		want      bool
	}{
		{"eve", 0, false, true}, {"eve", 10, false, true}, {"eve", 11, false, false}, {"ann", 0, false, true}, {"ann", 1, false, false}, {"bob", 10, false, true},
		{"eve", 30, true, true}, {"eve", 31, true, false},
	} {
		if thread.Truncated = test.truncated; thread.UnreadBy(test.user, test.since) != test.want {
			t.Errorf("%+v", test)
		}
	}
	if (&Thread{}).UnreadBy("eve", 0) {
		t.Error("a thread without comments is unread")
	}
}
