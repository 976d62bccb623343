package openapi

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Postman returns a collection for Postman 2.1: a folder for each first part of a path, and in it a
// request for each example of each operation. Its variables are baseUrl, apiKey and authToken, with
// the values for the local server.
//
// Postman's own import of the document sends one of the two credentials, and no example.
func Postman(document []byte) ([]byte, error) {
	var d pages
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, err
	}
	type pair struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	type request struct {
		Name    string `json:"name"`
		Request struct {
			Method string `json:"method"`
			URL    string `json:"url"`
			Header []pair `json:"header"`
			Body   struct {
				Mode string `json:"mode"`
				Raw  string `json:"raw"`
			} `json:"body"`
		} `json:"request"`
	}
	type folder struct {
		Name string    `json:"name"`
		Item []request `json:"item"`
	}
	schemes := d.Components.SecuritySchemes
	headers := []pair{
		{"Content-Type", contentType}, {schemes["apiKey"].Name, "{{apiKey}}"}, {schemes["authToken"].Name, "{{authToken}}"},
	}
	var folders []folder
	for _, name := range slices.Sorted(maps.Keys(d.Paths)) {
		op := d.Paths[name].Post
		if op.Summary == "" { // a page for browsers
			continue
		}
		group := strings.Split(name, "/")[2]
		i := slices.IndexFunc(folders, func(f folder) bool { return f.Name == group })
		if i < 0 {
			i = len(folders)
			folders = append(folders, folder{Name: group})
		}
		examples := op.RequestBody.Content[contentType].Examples
		for _, example := range slices.Sorted(maps.Keys(examples)) {
			r := request{Name: op.Summary + ": " + examples[example].Summary}
			r.Request.Method, r.Request.URL, r.Request.Header = "POST", "{{baseUrl}}"+name, headers
			var text bytes.Buffer
			if err := json.Indent(&text, examples[example].Value, "", "  "); err != nil {
				return nil, err
			}
			r.Request.Body.Mode, r.Request.Body.Raw = "raw", text.String()
			folders[i].Item = append(folders[i].Item, r)
		}
	}
	return json.MarshalIndent(map[string]any{
		"info":     map[string]string{"name": d.Info.Title, "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},
		"variable": []pair{{"baseUrl", "http://127.0.0.1:8080"}, {"apiKey", "dev-key"}, {"authToken", "dev-token"}},
		"item":     folders,
	}, "", "  ")
}
