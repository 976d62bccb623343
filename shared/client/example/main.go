// Example adds threads, pages through them, handles a conflict and verifies a webhook, on the local
// server of make run:
//
//	go run ./shared/client/example
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"collabdata/shared/client"
)

func main() {
	url := flag.String("url", "http://127.0.0.1:8080", "base URL of the service")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := client.New(client.Config{BaseURL: *url, APIKey: "dev-key", AuthToken: "dev-token"})
	if err := run(ctx, c); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, c *client.Client) error {
	// A webhook receiver that trusts events signed with its secret.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	hook, err := c.Webhooks.Add(ctx, &client.WebhooksAddRequest{
		URL: "http://" + l.Addr().String(), EventTypes: []client.EventType{client.EventTypeCommentAnnotationAdded},
	})
	if err != nil {
		return err
	}
	defer func() { _, _ = c.Webhooks.Delete(ctx, &client.WebhooksDeleteRequest{WebhookID: hook.WebhookID}) }()
	events := make(chan *client.WebhookEvent, 1000)
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		event, refused := client.VerifyWebhook(hook.Secret, r.Header, body)
		if err != nil || refused != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		events <- event
	}))

	// 120 threads in one call, each with a comment. The first is posted to the webhook.
	add := &client.CommentAnnotationsAddRequest{
		OrganizationID: "go-example", CreateOrganization: true,
		DocumentID: "plan-" + rand.Text(), CreateDocument: true,
	}
	for i := range 120 {
		add.CommentAnnotations = append(add.CommentAnnotations, client.NewAnnotation{
			AnnotationID: fmt.Sprintf("thread-%03d", i+1),
			CommentData: []client.AnnotationComment{{
				From: client.User{UserID: "ann", Name: "Ann"}, CommentText: fmt.Sprintf("Comment %d", i+1), TriggerNotification: i == 0,
			}},
		})
	}
	added, err := c.CommentAnnotations.Add(ctx, add)
	if err != nil {
		return err
	}
	fmt.Println(len(added), "threads added")

	// A conflict is a failure of one item: the others are added.
	add.CommentAnnotations = add.CommentAnnotations[:1]
	again, err := c.CommentAnnotations.Add(ctx, add)
	if err != nil {
		return err
	}
	if thread, _ := again.Get("thread-001"); thread.Code == client.CodeAlreadyExists {
		fmt.Println("thread-001 already exists")
	}

	// An update keeps omitted fields and clears cleared ones.
	_, err = c.CommentAnnotations.Update(ctx, &client.CommentAnnotationsUpdateRequest{
		OrganizationID: add.OrganizationID, DocumentID: add.DocumentID, AnnotationIDs: []string{"thread-001"},
		UpdatedData: &client.UpdatedData{Status: client.Set(client.StatusChange{ID: "RESOLVED"}), AssignedTo: client.Clear[client.UserChange]()},
	})
	if err != nil {
		return err
	}

	// All threads of the document, 50 per page.
	count := 0
	get := &client.CommentAnnotationsGetRequest{OrganizationID: add.OrganizationID, DocumentID: add.DocumentID, PageSize: 50}
	for _, err := range c.CommentAnnotations.Get(ctx, get) {
		if err != nil {
			return err
		}
		count++
	}
	fmt.Println(count, "threads")

	select {
	case event := <-events:
		fmt.Println("verified", event.Type)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
