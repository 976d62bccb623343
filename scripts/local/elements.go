package main

import (
	"cmp"
	"html/template"
	"net/http"
	"os"
	"regexp"
	"strings"

	"collabdata/shared/client"
	"collabdata/shared/words"
)

// readmePeople are the users of the README's page. Its requests name them, too.
var readmePeople = []client.User{{UserID: "ann", Name: "Ann"}, {UserID: "bob", Name: "Bob"}}

// readmeDocument is the document of the README's page and requests.
var readmeDocument = client.TokenPermission{Type: client.ResourceTypeDocument, ID: "plan", OrganizationID: "acme"}

// pageInReadme is the README's page.
var pageInReadme = regexp.MustCompile("(?ms)^```html\n(.*?)^```$")

// readmePage serves the page of the README, /page?as=bob, with addresses of this server.
func (p *pages) readmePage(w http.ResponseWriter, r *http.Request) {
	readme, err := os.ReadFile(p.readme)
	if err != nil {
		p.problem(w, http.StatusInternalServerError, "The README cannot be read", err.Error())
		return
	}
	found := pageInReadme.FindSubmatch(readme)
	if found == nil {
		p.problem(w, http.StatusInternalServerError, "The README has no page", "No block in HTML in "+p.readme)
		return
	}
	as := person(readmePeople, r)
	html := strings.NewReplacer(
		`"/assets/`, `"/pages/`, `"https://collab.example.com"`, `"/"`, `"/collab-token"`, `"/page/`+as.UserID+`/collab-token"`,
	).Replace(string(found[1]))
	p.renderUnder(p.demo.policy(), w, http.StatusOK, "readme.html", struct {
		view
		As     client.User
		People []client.User
		HTML   template.HTML
	}{p.view("The page of the README", "/page", false), as, readmePeople, template.HTML(html)})
}

// demoPage serves the product's page, /demo?as=ann. With &lang=de, the elements are in German.
func (p *pages) demoPage(w http.ResponseWriter, r *http.Request) {
	if err := p.demo.prepare(r.Context()); err != nil {
		p.problem(w, http.StatusInternalServerError, "The demo could not start", client.MessageOf(err))
		return
	}
	p.renderUnder(p.demo.policy(), w, http.StatusOK, "demo.html", struct {
		view
		As       client.User
		People   []client.User
		Document string
		Lang     string
	}{p.view("Launch plan", "/demo", false), person(demoPeople, r), demoPeople, demoDocument, cmp.Or(r.URL.Query().Get("lang"), words.Default)})
}
