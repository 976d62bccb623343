package main

import (
	"net/http"
	"net/url"
)

func (p *pages) webhookList(w http.ResponseWriter, r *http.Request) {
	p.render(w, http.StatusOK, "webhooks.html", struct {
		view
		Curl      string
		Endpoints []endpoint
	}{p.view("Webhooks", "/webhooks", true), webhookCurl(p.url), p.receiver.shown()})
}

// webhookPlace redirects a browser from an endpoint's address to its arrivals.
func (p *pages) webhookPlace(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "/webhooks#"+url.PathEscape(r.PathValue("name")), http.StatusSeeOther)
}
