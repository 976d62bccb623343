//go:build e2e

package main

import (
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"collabdata/shared/client"
)

// TestBot has users mention the example's bot, which reacts, answers in one comment, and resolves a
// thread. It answers neither itself, nor comments without a mention, nor webhooks of others.
// The adapter changes and lists comments.
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
	thread := func(id, text string, from client.User, tags []client.TaggedUser) {
		t.Helper()
		_, err := c.CommentAnnotations.Add(t.Context(), &client.CommentAnnotationsAddRequest{
			OrganizationID: "acme", CreateOrganization: true, DocumentID: "plan", CreateDocument: true,
			CommentAnnotations: []client.NewAnnotation{{AnnotationID: id, CommentData: []client.AnnotationComment{
				{CommentID: 1, CommentText: text, From: from, TaggedUserContacts: tags, TriggerNotification: true},
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
	thread("silent", "Nobody is asked.", ann, nil)
	thread("asked", "Is this final, {{helper}}?", ann, tagged)
	const want = "You wrote: Is this final, @Helper?"
	answered := await("the answer", "asked", func(a client.Annotation) bool {
		if len(a.Comments) == 2 && !strings.HasPrefix(want, a.Comments[1].CommentText) {
			t.Errorf("the answer shows %q", a.Comments[1].CommentText)
		}
		return len(a.Comments) == 2 && a.Comments[1].CommentText == want
	})
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
	thread("again", "And this, {{helper}}?", ann, tagged)
	await("the answer after a restart", "again", func(a client.Annotation) bool {
		return len(a.Comments) == 2 && a.Comments[1].CommentText == "You wrote: And this, @Helper?"
	})
	thread("other", "What about this, {{helper}}?", ann, tagged)
	await("the answer to the same id", "other", func(a client.Annotation) bool { return len(a.Comments) == 2 })

	// A repeated webhook is no second question.
	_, _, err := c.Webhooks.ReplayDeliveries(t.Context(), &client.WebhooksReplayDeliveriesRequest{WebhookID: "helper", Since: restarted})
	must(t, err)
	deliveries := func(what string, want int, counts func(client.Delivery) bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; {
			page, err := c.Webhooks.GetDeliveriesPage(t.Context(), &client.WebhooksGetDeliveriesRequest{WebhookID: "helper"})
			must(t, err)
			got := 0
			for _, d := range page.Items {
				if counts(d) {
					got++
				}
			}
			if got == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d deliveries are %s, want %d", got, what, want)
			}
		}
	}
	deliveries("repeated", 2, func(d client.Delivery) bool { return len(d.Attempts) > 1 })

	comments := func(id string, texts ...string) {
		t.Helper()
		req := &client.CommentAnnotationsAddCommentsRequest{OrganizationID: "acme", DocumentID: "plan", AnnotationID: id}
		for _, text := range texts {
			req.CommentData = append(req.CommentData, client.NewComment{
				CommentText: text, From: ann, TaggedUserContacts: []client.Tag{{UserID: "helper"}}, TriggerNotification: true,
			})
		}
		_, err := c.CommentAnnotations.AddComments(t.Context(), req)
		must(t, err)
	}
	comments("asked", "{{helper}}, please resolve this.")
	resolved := await("the resolution", "asked", func(a client.Annotation) bool { return a.Status.ID == "RESOLVED" })
	if len(resolved.Comments) != 3 {
		t.Errorf("the thread has %d comments", len(resolved.Comments))
	}
	forge(t, "http://127.0.0.1:"+port)

	// The bot checks mentions and authors, even if its endpoint gets all comments.
	_, err = c.Webhooks.Update(t.Context(), &client.WebhooksUpdateRequest{
		WebhookID: "helper", UpdatedData: client.WebhookChange{MentionedUserIDs: client.Clear[[]string]()},
	})
	must(t, err)
	thread("unasked", "Nobody is asked here.", ann, nil)
	thread("note", "A note to myself, {{helper}}.", helper, tagged)
	deliveries("delivered", 6, func(d client.Delivery) bool { return d.State == client.DeliveryStateDelivered })

	// Mentions at the same time have an answer each.
	thread("several", "Several questions.", ann, nil)
	comments("several", "{{helper}}, one?", "{{helper}}, two?")
	await("two answers", "several", func(a client.Annotation) bool {
		answers := map[string]bool{}
		for _, comment := range a.Comments {
			answers[comment.CommentText] = true
		}
		return answers["You wrote: @helper, one?"] && answers["You wrote: @helper, two?"]
	})

	for _, id := range []string{"again", "other"} {
		if a := read(id); len(a.Comments) != 2 {
			t.Errorf("a repeated webhook has a second answer: %+v", a.Comments)
		}
	}
	for _, id := range []string{"silent", "unasked", "note"} {
		if a := read(id); len(a.Comments) != 1 {
			t.Errorf("the bot answers in %s: %+v", id, a.Comments)
		}
	}

	const listed = "Nobody is asked here.,first,three\n👀\nfirst,three\nNobody is asked here.\nNobody is asked here.,first\nthree\n"
	if got := bot.do(t, "node", "--input-type=module", "--eval", inBot, s.url); got != listed {
		t.Errorf("the adapter prints %q, want %q", got, listed)
	}
}

// inBot changes the comments of a thread with the adapter, and lists them.
const inBot = `
import {emoji} from 'chat';
import {Client} from 'collabdata-client';
import {CollabdataAdapter} from './adapter.js';

const client = new Client({baseURL: process.argv[1], apiKey: 'dev-key', authToken: 'dev-token'});
const adapter = new CollabdataAdapter({client, secret: '', user: {userId: 'helper', name: 'Helper'}});
const thread = adapter.encodeThreadId({organizationId: 'acme', documentId: 'plan', annotationId: 'unasked'});
const ids = [];
for (const text of ['one', 'two', 'three']) ids.push((await adapter.postMessage(thread, text)).id);
await adapter.editMessage(thread, ids[0], 'first');
await adapter.deleteMessage(thread, ids[1]);
await adapter.addReaction(thread, ids[2], emoji.eyes);
await adapter.addReaction(thread, ids[0], emoji.eyes);
await adapter.removeReaction(thread, ids[0], emoji.eyes);

async function list(options) {
  const {messages, nextCursor} = await adapter.fetchMessages(thread, options);
  console.log(messages.map((message) => message.text).join());
  if (!options) console.log(messages.flatMap(({raw}) => raw.comment.reactions ?? []).map((r) => r.emoji).join());
  if (nextCursor) await list({...options, cursor: nextCursor});
}
await list();
await list({limit: 2});
await list({limit: 2, direction: 'forward'});
`

// forge posts a mention that is signed with another secret than the bot's.
func forge(t *testing.T, url string) {
	t.Helper()
	const body = `{"type": "comment.added", "data": {"organizationId": "acme", "documentId": "plan", "annotationId": "silent", "comments": [
		{"commentId": 1, "commentText": "{{helper}}?", "from": {"userId": "ann"}, "taggedUserContacts": [{"userId": "helper"}]}]}}`
	signer, err := standardwebhooks.NewWebhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	must(t, err)
	now := time.Now()
	signature, err := signer.Sign("forged", now, []byte(body))
	must(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	must(t, err)
	req.Header = http.Header{
		"Webhook-Id": {"forged"}, "Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)}, "Webhook-Signature": {signature},
	}
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	defer res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a forged webhook gets %s", res.Status)
	}
}
