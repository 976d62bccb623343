// Slack receives notification.due events of the channel slack, and sends each to its user as a
// direct message:
//
//	SLACK_TOKEN=xoxb-... go run ./shared/client/example/slack -users users.json
//
// The token is that of a bot with the scope chat:write. users.json maps each of your users to a
// user of Slack: {"bob": "U012AB3CD"}. Users choose the channel with notifications/config/set:
// {"config": {"slack": "ALL"}}.
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
	"os"
	"regexp"
	"strings"

	"collabdata/shared/client"
)

func main() {
	url := flag.String("url", "http://127.0.0.1:8080", "base URL of the service")
	listen := flag.String("listen", "127.0.0.1:8090", "address of this receiver")
	slack := flag.String("slack", "https://slack.com/api", "URL of Slack's API")
	file := flag.String("users", "users.json", "file with the Slack id of each user")
	flag.Parse()
	users, err := readUsers(*file)
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	c := client.New(client.Config{BaseURL: *url, APIKey: "dev-key", AuthToken: "dev-token"})
	secret, err := endpoint(context.Background(), c, "http://"+l.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		event, refused := client.VerifyWebhook(secret, r.Header, body)
		if err != nil || refused != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		to, mapped := users[event.Data.UserID]
		if event.Type != client.EventTypeNotificationDue || !mapped {
			return // 200: there is nobody to tell
		}
		if err := post(*slack, to, &event.Data); err != nil {
			log.Print(err)
			w.WriteHeader(http.StatusBadGateway) // the service posts the event again
		}
	})))
}

// slackUser matches the id of a user of Slack. Others are channels, whose members may not see every
// thread that a user sees.
var slackUser = regexp.MustCompile(`^[UW][A-Z0-9]+$`)

func readUsers(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var users map[string]string
	if err := json.Unmarshal(text, &users); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for user, to := range users {
		if !slackUser.MatchString(to) {
			return nil, fmt.Errorf("%s: %q of user %q must be the id of a user of Slack, such as U012AB3CD", file, to, user)
		}
	}
	return users, nil
}

// endpoint adds the webhook endpoint of this receiver, and returns its secret. If the endpoint
// exists, it gets the URL and another secret, because a secret is shown once.
func endpoint(ctx context.Context, c *client.Client, url string) (secret string, err error) {
	const id = "slack"
	hook, err := c.Webhooks.Add(ctx, &client.WebhooksAddRequest{
		WebhookID: id, URL: url, EventTypes: []client.EventType{client.EventTypeNotificationDue}, Channel: "slack",
	})
	if client.CodeOf(err) == client.CodeAlreadyExists {
		change := client.WebhookChange{URL: url}
		if _, err = c.Webhooks.Update(ctx, &client.WebhooksUpdateRequest{WebhookID: id, UpdatedData: change}); err == nil {
			hook, err = c.Webhooks.RotateSecrets(ctx, &client.WebhooksRotateSecretsRequest{WebhookID: id})
		}
	}
	if err != nil {
		return "", err
	}
	return hook.Secret, nil
}

// escape makes Slack show a text without mentions and links.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace

// post sends one direct message with a paragraph for each notification.
func post(slack, to string, due *client.EventData) error {
	var text strings.Builder
	for _, n := range due.Notifications {
		fmt.Fprintf(&text, "%s (%s)\n%s\n", escape(n.Headline), escape(cmp.Or(n.DocumentName, n.DocumentID)), escape(n.Body))
		if n.URL != "" {
			fmt.Fprintf(&text, "%s\n", escape(n.URL))
		}
	}
	// without mrkdwn, 2*3*4 keeps its signs
	message, err := json.Marshal(map[string]any{"channel": to, "text": text.String(), "mrkdwn": false, "unfurl_links": false})
	if err != nil {
		return err
	}
	request, err := http.NewRequest(http.MethodPost, slack+"/chat.postMessage", bytes.NewReader(message))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	request.Header.Set("Authorization", "Bearer "+os.Getenv("SLACK_TOKEN"))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		OK    bool
		Error string
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || !answer.OK {
		return fmt.Errorf("slack answered %s: %s", response.Status, answer.Error)
	}
	return nil
}
