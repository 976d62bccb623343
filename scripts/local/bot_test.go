//go:build e2e

package main

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"collabdata/shared/client"
)

// TestBot has users mention the example's bot, which reacts, answers in one comment, and resolves a
// thread. It answers neither itself, nor comments without a mention, nor webhooks of others.
func TestBot(t *testing.T) {
	t.Parallel()
	const folder, packages = "../../shared/client/examples/chat-bot", "../../shared/client/ts"
	bot := &outside{dir: folder, env: os.Environ()}
	(&outside{dir: packages, env: os.Environ()}).do(t, "sh", "-c", "npm ci --silent --ignore-scripts --no-audit --no-fund && npm run --silent build")
	bot.do(t, "npm", "ci", "--silent", "--no-audit", "--no-fund")
	bot.do(t, "npm", "run", "--silent", "check")

	s, port := start(t, t.TempDir()), freePort(t)
	c := client.New(client.Config{BaseURL: s.url, APIKey: "dev-key", AuthToken: "dev-token"})
	ann, helper := client.User{UserID: "ann", Name: "Ann"}, client.User{UserID: "helper", Name: "Helper"}
	tagged := []client.TaggedUser{{UserID: "helper", Contact: &helper}}
	thread := func(id, text string, tags []client.TaggedUser) {
		t.Helper()
		_, err := c.CommentAnnotations.Add(t.Context(), &client.CommentAnnotationsAddRequest{
			OrganizationID: "acme", CreateOrganization: true, DocumentID: "plan", CreateDocument: true,
			CommentAnnotations: []client.NewAnnotation{{AnnotationID: id, CommentData: []client.AnnotationComment{
				{CommentID: 1, CommentText: text, From: ann, TaggedUserContacts: tags, TriggerNotification: true},
			}}},
		})
		must(t, err)
	}
	read := func(id string) client.Annotation {
		t.Helper()
		page, err := c.CommentAnnotations.GetPage(t.Context(), &client.CommentAnnotationsGetRequest{
			OrganizationID: "acme", DocumentID: "plan", AnnotationIDs: []string{id},
		})
		must(t, err)
		return *page.Items[0]
	}
	await := func(what, id string, reached func(client.Annotation) bool) client.Annotation {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; {
			a := read(id)
			if reached(a) {
				return a
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: not reached, but %+v", what, a)
			}
		}
	}
	run := func() *exec.Cmd {
		cmd := exec.Command("node", "bot.js")
		cmd.Dir, cmd.Stderr = folder, os.Stderr
		cmd.Env = append(os.Environ(), "COLLABDATA_URL="+s.url, "COLLABDATA_KEY=dev-key", "COLLABDATA_TOKEN=dev-token", "PORT="+port)
		must(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		for deadline := time.Now().Add(time.Minute); ; {
			res, err := http.Post("http://127.0.0.1:"+port, "application/json", strings.NewReader("{}"))
			if err == nil {
				res.Body.Close()
				if res.StatusCode != http.StatusUnauthorized {
					t.Errorf("a webhook without a signature gets %s", res.Status)
				}
				return cmd
			}
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
	}

	first := run()
	thread("silent", "Nobody is asked.", nil)
	thread("asked", "Is this final, {{helper}}?", tagged)
	const want = "You wrote: Is this final, @Helper?"
	answered := await("the answer", "asked", func(a client.Annotation) bool { return len(a.Comments) == 2 && a.Comments[1].CommentText == want })
	if from := answered.Comments[1].From; from.UserID != "helper" || from.Name != "Helper" {
		t.Errorf("the answer is of %+v", from)
	}
	if r := answered.Comments[0].Reactions; len(r) != 1 || r[0].Emoji != "👀" || r[0].Users[0].UserID != "helper" {
		t.Errorf("the bot does not show that it has seen the question: %+v", r)
	}

	// After a restart it gets another secret. The same comment id in another thread is another message.
	must(t, first.Process.Kill())
	_ = first.Wait()
	run()
	restarted := time.Now()
	thread("again", "And this, {{helper}}?", tagged)
	await("the answer after a restart", "again", func(a client.Annotation) bool {
		return len(a.Comments) == 2 && a.Comments[1].CommentText == "You wrote: And this, @Helper?"
	})
	thread("other", "What about this, {{helper}}?", tagged)
	await("the answer to the same id", "other", func(a client.Annotation) bool { return len(a.Comments) == 2 })

	// A repeated webhook is no second question.
	_, _, err := c.Webhooks.ReplayDeliveries(t.Context(), &client.WebhooksReplayDeliveriesRequest{WebhookID: "helper", Since: restarted})
	must(t, err)
	for deadline := time.Now().Add(time.Minute); ; {
		deliveries, err := c.Webhooks.GetDeliveriesPage(t.Context(), &client.WebhooksGetDeliveriesRequest{WebhookID: "helper"})
		must(t, err)
		repeated := 0
		for _, d := range deliveries.Items {
			if len(d.Attempts) > 1 {
				repeated++
			}
		}
		if repeated == 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d deliveries are repeated, want 2", repeated)
		}
	}

	_, err = c.CommentAnnotations.AddComments(t.Context(), &client.CommentAnnotationsAddCommentsRequest{
		OrganizationID: "acme", DocumentID: "plan", AnnotationID: "asked",
		CommentData: []client.NewComment{{CommentText: "{{helper}}, please resolve this.", From: ann, TaggedUserContacts: []client.Tag{{UserID: "helper"}}, TriggerNotification: true}},
	})
	must(t, err)
	resolved := await("the resolution", "asked", func(a client.Annotation) bool { return a.Status.ID == "RESOLVED" })
	if len(resolved.Comments) != 3 {
		t.Errorf("the thread has %d comments", len(resolved.Comments))
	}
	for _, id := range []string{"again", "other"} {
		if a := read(id); len(a.Comments) != 2 {
			t.Errorf("a repeated webhook has a second answer: %+v", a.Comments)
		}
	}
	if silent := read("silent"); len(silent.Comments) != 1 {
		t.Errorf("the bot answers without a mention: %+v", silent.Comments)
	}
}
