package main

import (
	"fmt"
	"strings"

	"collabdata/shared/api/rpc"
)

// curl returns a command that calls an operation as the first account.
func curl(url, path, data string) string {
	key, token := headers.Names()
	return fmt.Sprintf(`curl -s %s%s \
  -H '%s: %s' -H '%s: %s' -H 'Content-Type: application/json' \
  -d '%s'`, url, path, key, devAccounts[0].key, token, devAccounts[0].token, data)
}

// firstCurl adds a thread, and the objects that it needs.
func firstCurl(url string) string {
	return curl(
		url,
		"/v2/commentannotations/add",
		`{"data": {"organizationId": "acme", "createOrganization": true, "documentId": "plan", "createDocument": true,
       "commentAnnotations": [{"commentData": [{"commentText": "Hello", "from": {"userId": "ann"}}]}]}}`,
	)
}

// tagCurl adds a thread that notifies a user by email.
func tagCurl(url string) string {
	return curl(
		url,
		"/v2/commentannotations/add",
		`{"data": {"organizationId": "acme", "createOrganization": true, "documentId": "plan", "createDocument": true,
       "commentAnnotations": [{"commentData": [{
         "commentText": "Is this final, {{bob}}?", "from": {"userId": "ann", "name": "Ann"}, "triggerNotification": true,
         "taggedUserContacts": [{"userId": "bob",
           "contact": {"userId": "bob", "name": "Bob", "email": "bob@example.com"}}]
       }]}]}}`,
	)
}

// threadCurl reads a thread, or a document if annotation is "".
func threadCurl(url, organization, document, annotation string) string {
	data := map[string]any{"organizationId": organization, "documentId": document}
	if annotation != "" {
		data["annotationIds"] = []string{annotation}
	}
	// for shell quoting
	text := strings.ReplaceAll(string(rpc.JSON(map[string]any{"data": data})), "'", `'\''`)
	return curl(url, "/v2/commentannotations/get", text)
}

// webhookCurl adds a webhook to the receiver, and an event for it.
func webhookCurl(url string) string {
	return curl(
		url, "/v2/webhooks/add", fmt.Sprintf(`{"data": {"webhookId": "first", "url": "%s/webhooks/first"}}`, url),
	) + "\n\n" + tagCurl(
		url,
	)
}
