package threads

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"collabdata/shared/collab"
	"collabdata/shared/request"
	"collabdata/shared/testing/storetest"
)

// TestReadStateBudgets checks the cost of read states and counts: unopened threads cost nothing,
// and a count reads threads only if the index does not suffice.
func TestReadStateBudgets(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	org := collab.OrganizationRef{Account: "acct", Organization: "org"}
	doc := org.Document("doc")
	l := newLoader(t, s)
	l.organization(org)
	l.document(doc, collab.RootFolder)
	const annotations = 400
	for i := range annotations {
		th := sized(storetest.Thread(fmt.Sprintf("a%03d", i), fmt.Sprint("u", i%2), 2), 300)
		if i%4 == 0 {
			th.StatusID = "RARE"
		}
		l.head(doc, &th.Annotation)
		for i := range th.Comments {
			l.comment(doc, th.ID, &th.Comments[i])
		}
	}
	l.wait()
	holds := func(name string, units float64, f func(ctx context.Context) error) {
		t.Helper()
		cost, calls := spent(t, f)
		if t.Logf("%s: %.1f units, %d calls", name, cost, calls); cost > units {
			t.Errorf("%s: %.1f units, at most %.1f", name, cost, units)
		}
	}
	count := func(user string, statuses []string, total, unread int64) func(context.Context) error {
		return func(ctx context.Context) error {
			got, err := s.Count(ctx, []collab.DocumentRef{doc}, statuses, user, nil)
			if want := (collab.AnnotationCount{Total: total, Unread: unread}); err == nil && got[0] != want {
				err = fmt.Errorf("%+v, want %+v", got[0], want)
			}
			return err
		}
	}
	holds("all", 12, count("", nil, annotations, 0))
	holds("in a status", 4, count("", []string{"RARE"}, annotations/4, 0))
	holds("of one who has read nothing", 12+annotations+1, count("eve", nil, annotations, annotations))
	set := func(ids ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			errs, err := s.SetRead(ctx, newRequest(5_000), doc, "eve", ids, true, nil)
			for _, e := range errs {
				if err == nil {
					err = e
				}
			}
			return err
		}
	}
	holds("read one", 4, set("a001"))
	holds("read it again", 3, set("a001"))
	holds("of one who has read one", 12+annotations+1, count("eve", nil, annotations, annotations-1))
	holds("read all of the document", 1.5, func(ctx context.Context) error { return s.SetAllRead(ctx, newRequest(6_000), doc, "eve", true) })
	holds("of one who has read all", 12.5, count("eve", nil, annotations, 0))
}

// TestReadNow reads a busy thread with a time key in the future, and one with a comment from the
// future. Existing comments are read, and one that is added at once is not.
func TestReadNow(t *testing.T) {
	const at = 2_000_000_000_000
	for _, comment := range []struct {
		name string
		made collab.Millis // of the previous comment
	}{
		{"of now", at + 100}, {"of tomorrow", at + 86_400_000},
	} {
		for name, set := range map[string]func(*writing, *request.Request) error{
			"document": func(w *writing, r *request.Request) error { return w.SetAllRead(t.Context(), r, w.doc, "eve", true) },
			"thread": func(w *writing, r *request.Request) error {
				errs, err := w.SetRead(t.Context(), r, w.doc, "eve", []string{"a"}, true, nil)
				return errors.Join(append(errs, err)...)
			},
		} {
			t.Run(name+" with a comment "+comment.name, func(t *testing.T) {
				w := newWriting(t, storetest.New(t))
				add := func(now, made collab.Millis) {
					c := storetest.Comment("bob", 0, made)
					c.SetAdded(now)
					_, err := w.AddComments(t.Context(), newRequest(now), w.doc, "a", collab.NewComments{Comments: []collab.Comment{c}})
					w.must(err)
				}
				unread := func() int64 {
					n, err := w.Count(t.Context(), []collab.DocumentRef{w.doc}, nil, "eve", nil)
					w.must(err)
					return n[0].Unread
				}
				add(at, at)
				add(at+100, comment.made)
				w.must(set(w, newRequest(at+120)))
				if unread() != 0 {
					t.Error("what is there is not read")
				}
				add(at+121, at+121)
				if unread() != 1 {
					t.Error("a comment that was added after the answer is read")
				}
			})
		}
	}
}

// TestUnreadInShortPages counts a thread whose newest comments are the reader's own. Each page of a
// query has one item.
func TestUnreadInShortPages(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	for i := range collab.Millis(10) {
		c := storetest.Comment([]string{"bob", "eve"}[min(i, 1)], 0, 10_000+i)
		_, err := w.AddComments(t.Context(), newRequest(10_000+i), w.doc, "a", collab.NewComments{Comments: []collab.Comment{c}})
		w.must(err)
	}
	errs, err := w.SetRead(t.Context(), newRequest(20_000), w.doc, "eve", []string{"a"}, false, nil)
	w.must(errors.Join(append(errs, err)...))
	limit := regexp.MustCompile(`"Limit":\d+`)
	short := on(storetest.Through(t, w.Table, func(next aws.HTTPClient) aws.HTTPClient {
		return storetest.Client(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			w.must(err)
			short := limit.ReplaceAllString(string(body), `"Limit":1`)
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(short)), int64(len(short))
			return next.Do(r)
		})
	}))
	n, err := short.Count(t.Context(), []collab.DocumentRef{w.doc}, nil, "eve", nil)
	w.must(err)
	if n[0].Unread != 1 {
		t.Errorf("%d annotations are unread, want 1", n[0].Unread)
	}
}

// TestAnsweredCosts checks the read state of an answer's author, and that it costs the same if the
// author had read the thread. A later one of the author is kept.
func TestAnsweredCosts(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	now := collab.Millis(10_000)
	add := func(author string) (read, write float64) {
		t.Helper()
		now += 1_000
		var u collab.Usage
		c := storetest.Comment(author, 0, now)
		_, err := w.AddComments(collab.WithUsage(t.Context(), &u), newRequest(now), w.doc, "a", collab.NewComments{Comments: []collab.Comment{c}})
		w.must(err)
		read, write, _ = u.Total()
		return read, write
	}
	unread := func(user string) int64 {
		t.Helper()
		n, err := w.Count(t.Context(), []collab.DocumentRef{w.doc}, nil, user, nil)
		w.must(err)
		return n[0].Unread
	}
	says := func(read bool) {
		t.Helper()
		now += 1_000
		errs, err := w.SetRead(t.Context(), newRequest(now), w.doc, "bob", []string{"a"}, read, nil)
		w.must(errors.Join(append(errs, err)...))
	}
	add("ann")
	if unread("bob") != 1 {
		t.Fatal("nothing is unread at first")
	}
	_, first := add("bob")
	if unread("bob") != 0 {
		t.Error("bob has not read what he has answered")
	}
	for range 20 {
		add("bob")
	}
	add("ann")
	if unread("bob") != 1 {
		t.Error("a comment after the answer is read")
	}
	says(true)
	if read, write := add("bob"); write != first || read > 0 {
		t.Errorf("%.1f write units, at first %.1f; %.1f read units", write, first, read)
	}
	says(false)
	if unread("bob") != 1 {
		t.Error("what bob said is passed over")
	}
	c := storetest.Comment("bob", 0, now-1_500)
	_, err := w.AddComments(t.Context(), newRequest(now), w.doc, "a", collab.NewComments{Comments: []collab.Comment{c}})
	w.must(err)
	if unread("bob") != 1 {
		t.Error("what bob said after his comment is passed over")
	}
	add("bob")
	if unread("bob") != 0 {
		t.Error("bob has not read what he has answered again")
	}
}
