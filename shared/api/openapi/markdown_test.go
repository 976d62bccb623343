package openapi_test

import (
	"regexp"
	"strings"
	"testing"

	"collabdata/shared/api"
	"collabdata/shared/api/openapi"
	"collabdata/shared/collab"
	"collabdata/shared/testing/golden"
	"collabdata/shared/testing/must"
)

// TestMarkdown checks that llms.txt lists a page for each operation and type of webhook, that all
// links lead to pages, and one page as a whole.
func TestMarkdown(t *testing.T) {
	pages, err := openapi.Markdown([]byte(document(t)))
	must.Do(t, err)
	index := string(pages["/llms.txt"])
	for _, e := range api.Endpoints() {
		if !e.Public && !strings.Contains(index, "- ["+e.Path+"](/docs"+e.Path+".md): ") {
			t.Errorf("llms.txt does not list %s", e.Path)
		}
	}
	for _, e := range collab.EventTypes() {
		if !strings.Contains(index, "(/docs/webhooks/"+string(e)+".md): ") {
			t.Errorf("llms.txt does not list %s", e)
		}
	}
	links := regexp.MustCompile(`\]\((/docs/[^)]*)\)`).FindAllStringSubmatch(index, -1)
	for _, link := range links {
		if len(pages[link[1]]) == 0 {
			t.Errorf("%s is no page", link[1])
		}
	}
	if len(links) != len(pages)-1 {
		t.Errorf("%d links lead to %d pages", len(links), len(pages)-1)
	}
	golden.Check(t, "testdata/page.txt", string(pages["/docs/v2/commentannotations/comments/add.md"]))
}
