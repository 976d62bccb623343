//go:build e2e

package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/collab"
)

// TestConsole checks every kind of page of the console, with a script in every text of the data.
// Screenshots are in .local/screenshots.
func TestConsole(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	texts := vectors(t)
	var ids []string
	for _, v := range texts {
		if collab.CheckID(v, collab.MaxID) == nil && !slices.Contains(ids, v) {
			ids = append(ids, v)
		}
	}
	organization, document, folder := ids[0], ids[1], ids[2]
	type object = map[string]any
	add := func(path string, data object) {
		t.Helper()
		body, err := json.Marshal(object{"data": data})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.post(t, "dev-key", "dev-token", path, string(body)); !strings.Contains(got, `"result"`) {
			t.Fatalf("%s gave %s", path, got)
		}
	}
	user := func(i int) object {
		i %= len(ids)
		return object{"userId": ids[i], "name": ids[(i+1)%len(ids)], "email": "someone@example.com"}
	}
	bob := object{"userId": "bob", "name": texts[0]}
	within := func(further object) object {
		further["organizationId"], further["documentId"] = organization, document
		return further
	}
	add("/v2/webhooks/add", object{"webhookId": "console", "url": s.url + "/webhooks/console", "description": texts[3]})
	everywhere := func(further object) object {
		further["organizationId"] = organization
		return further
	}
	itself := object{"organizationId": organization, "organizationName": texts[4], "plan": texts[5]}
	add("/v2/organizations/add", object{"organizations": []object{itself}})
	add("/v2/organizations/folders/add", everywhere(object{"folders": []object{{"folderId": folder, "folderName": texts[6]}}}))
	named := object{"documentId": document, "documentName": texts[7], "kind": texts[8]}
	add("/v2/organizations/documents/add", everywhere(object{"documents": []object{named}}))
	add("/v2/organizations/documents/move", everywhere(object{"documentIds": []string{document}, "folderId": folder}))
	add("/v2/users/add", everywhere(object{"users": []object{user(0), user(1), bob}}))
	add("/v2/users/add", within(object{"users": []object{bob}}))
	config := object{"inbox": "ALL", texts[9][:20]: "ALL"}
	add("/v2/notifications/config/set", everywhere(object{"userIds": []string{"bob"}, "config": config}))
	comment := func(i int) object {
		v := texts[i]
		attachments := []object{{"attachmentId": 1, "name": v, "url": v}}
		return object{"commentText": v, "commentHtml": v, "from": user(i), "context": object{v: v}, "attachments": attachments}
	}
	var comments []object
	for i := range texts {
		comments = append(comments, comment(i))
	}
	tags := []object{{"userId": "bob", "contact": bob}}
	first := object{"commentText": "Hello {{bob}}", "from": user(5), "taggedUserContacts": tags, "triggerNotification": true}
	annotations := []object{{
		"annotationId": "vectors", "commentData": []object{first}, "context": object{ids[12]: ids[13]},
		"location":      object{"id": ids[10], "locationName": ids[11]},
		"targetElement": object{"elementId": ids[14], "targetText": ids[15], "occurrence": 1}, "assignedTo": user(3),
		"priority": object{"id": ids[16], "name": ids[17]},
		"status":   object{"id": ids[18], "name": ids[19], "type": "default", "svg": texts[20]},
	}}
	for i, id := range ids {
		only := object{"commentText": texts[i], "from": user(i), "triggerNotification": i < 5}
		annotations = append(annotations, object{"annotationId": id, "commentData": []object{only}})
	}
	for part := range slices.Chunk(annotations, 50) {
		add("/v2/commentannotations/add", within(object{"commentAnnotations": part}))
	}
	for part := range slices.Chunk(comments[1:], 50) {
		add("/v2/commentannotations/comments/add", within(object{"annotationId": "vectors", "commentData": part}))
	}
	for i := range 30 {
		v := texts[i]
		add("/v2/notifications/add", within(object{
			"actionUser": user(i), "displayHeadlineMessageTemplate": v + " {x}", "displayHeadlineMessageTemplateData": object{"x": v},
			"displayBodyMessage": v, "notifyAll": false, "notifyUsers": []object{bob}, "metadata": object{v: v},
		}))
	}

	texts = slices.Concat([]string{"Hello " + texts[0]}, texts[1:])
	browse(t, s, "console.cjs", map[string]any{
		"texts": texts, "organization": organization, "document": document, "folder": folder,
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func readEnvironment(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	values := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		values[name] = strings.Trim(value, "'")
	}
	return values
}
