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

// firstCurl adds a thread, making all that it needs.
func firstCurl(url string) string {
	return curl(
		url,
		"/v2/commentannotations/add",
		`{"data": {"organizationId": "acme", "createOrganization": true, "documentId": "plan", "createDocument": true,
       "commentAnnotations": [{"commentData": [{"commentText": "Hello", "from": {"userId": "ann"}}]}]}}`,
	)
}

// tagCurl adds a thread that notifies somebody by mail.
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

// threadCurl reads a thread, or a document where annotation is "".
func threadCurl(url, organization, document, annotation string) string {
	data := map[string]any{"organizationId": organization, "documentId": document}
	if annotation != "" {
		data["annotationIds"] = []string{annotation}
	}
	text := strings.ReplaceAll(string(rpc.JSON(map[string]any{"data": data})), "'", `'\''`) // inside the quotes of a shell
	return curl(url, "/v2/commentannotations/get", text)
}

// webhookCurl adds a webhook that leads to the receiver, and something to post to it.
func webhookCurl(url string) string {
	return curl(
		url, "/v2/webhooks/add", fmt.Sprintf(`{"data": {"webhookId": "first", "url": "%s/webhooks/first"}}`, url),
	) + "\n\n" + tagCurl(
		url,
	)
}
