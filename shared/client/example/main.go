// Example adds threads, pages through them, meets a conflict and verifies a webhook, on the local server that make run starts:
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

	"collabdata/shared/api/commentannotations"
	"collabdata/shared/api/webhooks"
	"collabdata/shared/client"
	"collabdata/shared/collab"
)

func main() {
	url := flag.String("url", "http://127.0.0.1:8080", "where the service is")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := client.New(client.Config{BaseURL: *url, APIKey: "dev-key", AuthToken: "dev-token"})
	if err := run(ctx, c); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, c *client.Client) error {
	// A receiver of webhooks, which believes what is signed with its secret.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	hook, err := client.Call(ctx, c, (*webhooks.Service).Add, &webhooks.AddRequest{
		URL: "http://" + l.Addr().String(), EventTypes: []collab.EventType{collab.AnnotationAdded},
	})
	if err != nil {
		return err
	}
	defer client.Call(ctx, c, (*webhooks.Service).Delete, &webhooks.DeleteRequest{WebhookID: hook.Data.WebhookID})
	events := make(chan *client.WebhookEvent, 1000)
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		event, refused := client.VerifyWebhook(hook.Data.Secret, r.Header, body)
		if err != nil || refused != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		events <- event
	}))

	// 120 threads in one call, each with a comment; the first tells the webhook.
	add := commentannotations.AddRequest{CommentAnnotations: make([]commentannotations.NewAnnotation, 120)}
	add.OrganizationID, add.CreateOrganization = "go-example", true
	add.DocumentID, add.CreateDocument = "plan-"+rand.Text(), true
	for i := range add.CommentAnnotations {
		comment := commentannotations.AnnotationComment{TriggerNotification: i == 0}
		comment.From.UserID, comment.CommentText = "ann", new(fmt.Sprintf("Comment %d", i+1))
		add.CommentAnnotations[i].AnnotationID = new(fmt.Sprintf("thread-%03d", i+1))
		add.CommentAnnotations[i].CommentData = []commentannotations.AnnotationComment{comment}
	}
	added, err := client.Call(ctx, c, (*commentannotations.Service).Add, &add)
	if err != nil {
		return err
	}
	fmt.Println(added.Message)

	// A conflict is a failure of its item: the others are added.
	add.CommentAnnotations = add.CommentAnnotations[:1]
	again, err := client.Call(ctx, c, (*commentannotations.Service).Add, &add)
	if err != nil {
		return err
	}
	if thread, _ := again.Data.Get("thread-001"); thread.Code == collab.AlreadyExists {
		fmt.Println("thread-001 is there already")
	}

	// All threads of the document, 50 a page.
	get := commentannotations.GetRequest{OrganizationID: add.OrganizationID, DocumentID: &add.DocumentID}
	get.PageSize = new(int64(50))
	count := 0
	for _, err := range client.Items(ctx, c, (*commentannotations.Service).Get, &get) {
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
