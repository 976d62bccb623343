// Slack receives notification.due events, and posts each to an incoming webhook of Slack:
//
//	go run ./shared/client/example/slack -slack https://hooks.slack.com/services/...
//
// Users choose the channel with notifications/config/set: {"config": {"slack": "ALL"}}.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"

	"collabdata/shared/client"
)

func main() {
	url := flag.String("url", "http://127.0.0.1:8080", "base URL of the service")
	listen := flag.String("listen", "127.0.0.1:8090", "address of this receiver")
	slack := flag.String("slack", "", "URL of Slack's incoming webhook")
	flag.Parse()
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	c := client.New(client.Config{BaseURL: *url, APIKey: "dev-key", AuthToken: "dev-token"})
	hook, err := c.Webhooks.Add(context.Background(), &client.WebhooksAddRequest{
		URL: "http://" + l.Addr().String(), EventTypes: []client.EventType{client.EventTypeNotificationDue}, Channel: "slack",
	})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		event, refused := client.VerifyWebhook(hook.Secret, r.Header, body)
		if err != nil || refused != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if post(*slack, &event.Data) != nil {
			w.WriteHeader(http.StatusBadGateway) // the service posts the event again
		}
	})))
}

// post sends one message with a line for each notification.
func post(slack string, due *client.EventData) error {
	var text strings.Builder
	for _, n := range due.Notifications {
		fmt.Fprintf(&text, "<@%s> %s: %s\n", due.UserID, n.Headline, cmp.Or(n.Body, n.DocumentID))
	}
	message, err := json.Marshal(map[string]string{"text": text.String()})
	if err != nil {
		return err
	}
	answer, err := http.Post(slack, "application/json", bytes.NewReader(message))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("slack answered %s", answer.Status)
	}
	return nil
}
