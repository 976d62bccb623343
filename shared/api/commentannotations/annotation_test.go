package commentannotations

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/testing/must"
)

// jsonThread returns a thread with n comments of the text.
func jsonThread(n int, text string) *collab.Thread {
	t := &collab.Thread{Document: `d"1`, Annotation: collab.Annotation{
		ID:            "a\u2028",
		From:          js(`{"userId":"u1","name":"Una \"U\"","email":"una@example.com"}`),
		Location:      js(`{"id":"l1","locationName":"Page 1"}`),
		TargetElement: js(`{"elementId":"e1","targetText":"some text","occurrence":2}`),
		Status:        js(`{"id":"OPEN","name":"Open","type":"default","color":"#ff0000"}`),
		Context:       js(`{"a":1.50}`),
		CreatedAt:     1_700_000_000_000, LastUpdated: 1_700_000_000_001,
	}}
	for i := range n {
		t.Comments = append(t.Comments, collab.Comment{
			ID: int64(i + 1), Text: &text, HTML: &text, TextAvailable: new(true), From: t.From, CreatedAt: 1, LastUpdated: 2,
		})
	}
	return t
}

// TestEncodeThreadFits gives a thread every room from nothing to all it takes.
func TestEncodeThreadFits(t *testing.T) {
	for _, content := range []string{"x", `"\`, "\x00\n", "\u2028é𝄞"} {
		thread := jsonThread(4, strings.Repeat(content, 20))
		_, all, whole := reader{}.encode(thread, 1_000_000)
		if !whole {
			t.Fatal("a thread is cut where there is room")
		}
		last := -1
		for room := range all + 100 {
			got, size, whole := reader{}.encode(thread, room)
			if size != rpc.WrappedLen(got) {
				t.Fatalf("room for %d: size %d of %d", room, size, rpc.WrappedLen(got))
			}
			var a struct {
				Comments  []collab.JSON
				Truncated *bool `json:"commentsTruncated"`
			}
			must.Do(t, json.Unmarshal(got, &a))
			n := len(a.Comments)
			switch {
			case whole != (a.Truncated == nil), whole && n < 4, a.Truncated != nil && !*a.Truncated:
				t.Fatalf("room for %d: whole %v, %d comments: %s", room, whole, n, got)
			case n < last:
				t.Fatalf("room for %d: %d comments, %d with less room", room, n, last)
			case size > room && (n > 0 || whole):
				t.Fatalf("room for %d: %d comments take %d", room, n, size)
			}
			last = n
		}
		if _, _, whole := (reader{}).encode(thread, all+30); !whole {
			t.Error("a thread is cut that fits")
		}
	}
}

// TestStoredIsOfItsType holds that the parts of an annotation with everything, which are answered as they were sent, have the form of the
// types that they are said to be of: nothing is lost on its way through those.
func TestStoredIsOfItsType(t *testing.T) {
	thread := jsonThread(1, "x")
	thread.Truncated = true
	thread.AssignedTo, thread.Priority = thread.From, js(`{"id":"P1","name":"High","color":"red","lightColor":"pink"}`)
	thread.TargetElement = js(`{"elementId":"e1","targetText":"some text","occurrence":2,"selectAllContent":true}`)
	thread.Status = js(
		`{"id":"s","type":{"of":"v1"},"name":"S","color":"red","lightColor":"pink","svg":"<svg/>","iconUrl":"https://example.com/i"}`,
	)
	c := &thread.Comments[0]
	c.Context, c.ResolverUsed = js(`{"n":1.50}`), new(false)
	c.TaggedUserContacts = js(`[{"userId":"u2","contact":{"userId":"u2","name":"Two"},"text":"@Two"}]`)
	c.Attachments = js(
		`[{"attachmentId":1,"name":"a.png","bucketPath":"b","size":2,"type":"image","url":"u","thumbnail":"t","mimeType":"image/png","metadata":{"w":1.0}}]`,
	)
	a := reader{}.thread(thread)
	comment := a.Comments[0]
	readStored(t, a.From)
	readStored(t, a.Color)
	readStored(t, a.Status)
	readStored(t, a.Location)
	readStored(t, a.TargetElement)
	readStored(t, a.AssignedTo)
	readStored(t, a.Priority)
	readStored(t, comment.From)
	readStored(t, comment.TaggedUserContacts)
	readStored(t, comment.Attachments)
}

func js(s string) collab.JSON { return collab.JSON(s) }

// readStored reads a stored text as what it is of, and writes it again.
func readStored[T any](t *testing.T, text rpc.Stored[T]) {
	t.Helper()
	var v T
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if diff := cmp.Diff(values(t, text), values(t, encode(v))); diff != "" {
		t.Errorf("%s: %s", text, diff)
	}
}

// values reads JSON, with numbers as written.
func values(t *testing.T, text []byte) (v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	must.Do(t, dec.Decode(&v))
	return v
}
