// The program adds a thread, reads threads and notifications, and makes a mistake.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"

	"generated/api"
)

func main() {
	client, err := api.NewClientWithResponses(os.Args[1], api.WithRequestEditorFn(authenticate))
	check(err)
	ctx, document := context.Background(), "Übersicht Go"
	thread := api.NewAnnotation{
		AnnotationId: new("typed"), CreatedAt: new(int64(1700000000123)), LastUpdated: new(int64(1700000001456)),
		Status: &api.Status{Id: "MINE", Name: new("Mine"), Type: new(api.StatusType("ongoing")), IconUrl: new("https://acme.example/icon")},
		CommentData: &[]api.AnnotationComment{{
			CommentId: new(int64(9007199254740991)), CreatedAt: new(int64(1700000000789)),
			CommentText: new("Is this final?"), From: api.UserInput{UserId: "ann", Name: new("Ann")},
		}},
	}
	_, err = client.CommentAnnotationsAddWithResponse(ctx, nil, api.CommentAnnotationsAddBody{Data: api.CommentAnnotationsAddRequest{
		OrganizationId: "acme", DocumentId: document, CommentAnnotations: []api.NewAnnotation{thread},
	}})
	check(err)

	request := api.CommentAnnotationsGetRequest{OrganizationId: "acme", DocumentId: &document}
	threads, err := client.CommentAnnotationsGetWithResponse(ctx, api.CommentAnnotationsGetBody{Data: request})
	check(err)
	for _, item := range threads.JSON200.Result.Data {
		show(item)
	}
	inbox := api.NotificationsGetRequest{OrganizationId: "acme", DocumentId: &document, UserId: new("bob")}
	notifications, err := client.NotificationsGetWithResponse(ctx, api.NotificationsGetBody{Data: inbox})
	check(err)
	for _, item := range notifications.JSON200.Result.Data {
		show(item)
	}
	request.PageToken = new("unknown")
	refused, err := client.CommentAnnotationsGetWithResponse(ctx, api.CommentAnnotationsGetBody{Data: request})
	check(err)
	show(refused.JSON400.Error)
}

func show(value any) {
	check(json.NewEncoder(os.Stdout).Encode(value))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func authenticate(_ context.Context, r *http.Request) error {
	r.Header.Set("x-service-api-key", "dev-key")
	r.Header.Set("x-service-auth-token", "dev-token")
	return nil
}
