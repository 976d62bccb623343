// Program token is a product's server. It serves the folder public, and gets tokens for the pages
// of signed-in users.
package main

import (
	"crypto/rand"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"sync"

	"collabdata/shared/client"
)

type user struct{ id, name, email, company string }

// documentsOf returns the ids of the documents that the user may open in your product: fill it in.
func documentsOf(user) []string { return []string{"plan"} }

// sessions are users by session: replace them with your product's.
var sessions sync.Map

func signedIn(r *http.Request) (user, bool) {
	cookie, err := r.Cookie("session")
	if err != nil {
		return user{}, false
	}
	u, ok := sessions.Load(cookie.Value)
	if !ok {
		return user{}, false
	}
	return u.(user), true
}

func main() {
	service := client.New(client.Config{
		BaseURL: os.Getenv("COLLABDATA_URL"), APIKey: os.Getenv("COLLABDATA_KEY"), AuthToken: os.Getenv("COLLABDATA_TOKEN"),
	})
	http.HandleFunc("POST /collab-token", func(w http.ResponseWriter, r *http.Request) {
		u, ok := signedIn(r)
		if !ok {
			http.Error(w, "sign in", http.StatusUnauthorized)
			return
		}
		var page struct{ DocumentID *string } // absent for an inbox
		if err := json.NewDecoder(r.Body).Decode(&page); err != nil {
			http.Error(w, "no JSON", http.StatusBadRequest)
			return
		}
		var covered []client.TokenPermission
		for _, id := range documentsOf(u) {
			if page.DocumentID == nil || *page.DocumentID == id {
				covered = append(covered, client.TokenPermission{Type: client.ResourceTypeDocument, ID: id, OrganizationID: u.company})
			}
		}
		if len(covered) == 0 {
			http.Error(w, "not yours", http.StatusForbidden)
			return
		}
		token, err := service.Auth.GenerateToken(r.Context(), &client.AuthGenerateTokenRequest{
			UserID: u.id, UserProperties: &client.UserProperties{Name: u.name, Email: u.email},
			Permissions: client.TokenPermissions{Resources: covered}, CreateOrganization: true, CreateDocument: true,
		})
		if err != nil {
			http.Error(w, "no token", http.StatusBadGateway)
			return
		}
		_ = json.NewEncoder(w).Encode(token)
	})
	http.HandleFunc("POST /sign-out", func(_ http.ResponseWriter, r *http.Request) {
		if cookie, err := r.Cookie("session"); err == nil {
			sessions.Delete(cookie.Value)
		}
	})
	files := http.FileServer(http.Dir("public"))
	http.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" { // your product asks for a password first
			session := rand.Text()
			sessions.Store(session, user{"ann", "Ann", "ann@example.com", "acme"})
			http.SetCookie(w, &http.Cookie{Name: "session", Value: session, HttpOnly: true, SameSite: http.SameSiteLaxMode})
		}
		files.ServeHTTP(w, r)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
