// Program token is a product's server. It serves the folder public, and gets tokens for the pages
// of signed-in users.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"

	"collabdata/shared/client"
)

type user struct {
	id, name, company string
	documents         []string
}

func main() {
	service := client.New(client.Config{
		BaseURL: os.Getenv("COLLABDATA_URL"), APIKey: os.Getenv("COLLABDATA_KEY"), AuthToken: os.Getenv("COLLABDATA_TOKEN"),
	})
	// replace with your product's sessions
	sessions := map[string]user{"1": {"ann", "Ann", "acme", []string{"plan"}}}
	http.HandleFunc("POST /collab-token", func(w http.ResponseWriter, r *http.Request) {
		cookie, _ := r.Cookie("session")
		if cookie == nil || sessions[cookie.Value].id == "" {
			http.Error(w, "sign in", http.StatusUnauthorized)
			return
		}
		who := sessions[cookie.Value]
		var page struct{ DocumentID string } // empty for an inbox: all documents of the user
		if err := json.NewDecoder(r.Body).Decode(&page); err != nil {
			http.Error(w, "no JSON", http.StatusBadRequest)
			return
		}
		var covered []client.TokenPermission
		for _, id := range who.documents {
			if page.DocumentID == "" || page.DocumentID == id {
				covered = append(covered, client.TokenPermission{Type: client.ResourceTypeDocument, ID: id, OrganizationID: who.company})
			}
		}
		if len(covered) == 0 {
			http.Error(w, "not yours", http.StatusForbidden)
			return
		}
		token, err := service.Auth.GenerateToken(r.Context(), &client.AuthGenerateTokenRequest{
			UserID: who.id, UserProperties: &client.UserProperties{Name: who.name}, Permissions: client.TokenPermissions{Resources: covered},
			CreateOrganization: true, CreateDocument: true,
		})
		if err != nil {
			http.Error(w, "no token", http.StatusBadGateway)
			return
		}
		_ = json.NewEncoder(w).Encode(token)
	})
	files := http.FileServer(http.Dir("public"))
	http.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		// your product asks for a password first
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1", HttpOnly: true})
		files.ServeHTTP(w, r)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
