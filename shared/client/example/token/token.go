// Program token is a product's server: it serves the folder public, and gets the page of a signed-in person a token for the service.
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
	sessions := map[string]user{"1": {"ann", "Ann", "acme", []string{"plan"}}} // ask your product's
	http.HandleFunc("POST /collab-token", func(w http.ResponseWriter, r *http.Request) {
		cookie, _ := r.Cookie("session")
		if cookie == nil || sessions[cookie.Value].id == "" {
			http.Error(w, "sign in", http.StatusUnauthorized)
			return
		}
		who := sessions[cookie.Value]
		var page struct{ DocumentID string } // none for an inbox: then all of the person's
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
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1", HttpOnly: true}) // your product asks for a password first
		files.ServeHTTP(w, r)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
