package main

import (
	"html/template"
	"io/fs"
	"net/http"
	"strings"

	"collabdata/scripts/admin/console"
	"collabdata/shared/api/openapi"
)

func (p *pages) routes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /{$}":                         p.home,
		"GET /demo":                        p.demoPage,
		"POST /demo/{person}/collab-token": p.demo.tokens(demoPeople, demoResource),
		"GET /page":                        p.readmePage,
		"POST /page/{person}/collab-token": p.demo.tokens(readmePeople, readmeDocument),
		"GET /docs":                        p.docs,
		"GET /openapi.json":                p.description(func(text []byte) ([]byte, error) { return text, nil }),
		"GET /openapi-clients.json":        p.description(openapi.ForClients),
		"GET /postman.json":                p.description(openapi.Postman),
		"GET /import-schema.json":          func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, p.schema) },
		"GET /llms.txt":                    p.markdown,
		"GET /docs/":                       p.markdown,
		"GET /mail":                        p.mailList,
		"GET /mail/{number}":               p.mailPage,
		"GET /mail/preview":                p.mailPreviews,
		"GET /mail/preview/{kind}/{lang}":  p.mailPreview,
		"GET /mail/{number}/html":          p.mailHTML,
		"GET /opened":                      p.opened,
		"GET /webhooks":                    p.webhookList,
		"GET /webhooks/{name}":             p.webhookPlace,
		"POST /webhooks/{name}":            p.receiver.receive,
		"GET /pages/reference.js":          func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, p.reference) },
		"GET /pages/{file}":                p.file,
	}
}

// handler serves the pages, and passes other requests to the service.
func (p *pages) handler(service http.Handler) (http.Handler, error) {
	var err error
	if p.templates, err = template.ParseFS(pageFiles, "pages/*.html"); err != nil {
		return nil, err
	}
	files, err := fs.Sub(pageFiles, "pages")
	if err != nil {
		return nil, err
	}
	p.static = http.FileServerFS(files)
	mux := http.NewServeMux()
	for pattern, h := range p.routes() {
		mux.HandleFunc(pattern, h)
	}
	for _, pattern := range []string{"GET " + console.Path, "GET " + console.Path + "/", "POST " + console.Path + "/"} {
		mux.Handle(pattern, p.console)
	}
	mux.Handle("/", service)
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v") || !strings.Contains(r.Header.Get("Accept"), "text/html") {
			service.ServeHTTP(w, r)
			return
		}
		p.problem(w, http.StatusNotFound, "Page not found", "No page at "+r.URL.Path+".")
	})
	return mux, nil
}
