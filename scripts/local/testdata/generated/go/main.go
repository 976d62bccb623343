// The program adds a thread, reads it, and makes a mistake.
package main

import (
	"context"
	"log"
	"net/http"
	"os"

	"generated/api"
)

func main() {
	log.SetFlags(0)
	log.SetOutput(os.Stdout)
	client, err := api.NewClientWithResponses(os.Args[1], api.WithRequestEditorFn(authenticate))
	if err != nil {
		log.Fatal(err)
	}
	ctx, document := context.Background(), "Übersicht Go"
	thread := api.NewAnnotation{CommentData: &[]api.AnnotationComment{{
		CommentText: new("Is this final?"), From: api.UserInput{UserId: "ann", Name: new("Ann")},
	}}}
	added, err := client.CommentAnnotationsAddWithResponse(ctx, nil, api.CommentAnnotationsAddBody{Data: api.CommentAnnotationsAddRequest{
		OrganizationId: "acme", DocumentId: document, CreateDocument: new(true), CommentAnnotations: []api.NewAnnotation{thread},
	}})
	if err != nil {
		log.Fatal(err)
	}
	for _, item := range added.JSON200.Result.Data {
		log.Println(item.Success)
	}
	request := api.CommentAnnotationsGetRequest{OrganizationId: "acme", DocumentId: &document}
	got, err := client.CommentAnnotationsGetWithResponse(ctx, api.CommentAnnotationsGetBody{Data: request})
	if err != nil {
		log.Fatal(err)
	}
	first := got.JSON200.Result.Data[0]
	log.Println(*first.Comments[0].CommentText, *first.From.Name, first.Status.Id)
	request.PageToken = new("unknown")
	refused, err := client.CommentAnnotationsGetWithResponse(ctx, api.CommentAnnotationsGetBody{Data: request})
	if err != nil {
		log.Fatal(err)
	}
	log.Println(refused.JSON400.Error.Status, (*refused.JSON400.Error.Details)[0].Field)
}

func authenticate(_ context.Context, r *http.Request) error {
	r.Header.Set("x-service-api-key", "dev-key")
	r.Header.Set("x-service-auth-token", "dev-token")
	return nil
}
