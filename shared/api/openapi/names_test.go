package openapi

import "testing"

// TestNames checks the names of operations for each form of path.
func TestNames(t *testing.T) {
	all := map[string]bool{}
	paths := map[string]string{
		"/v2/commentannotations/add":                        "CommentAnnotations.Add",
		"/v1/commentannotations/add":                        "CommentAnnotations.AddV1",
		"/v2/commentannotations/comments/add":               "CommentAnnotations.AddComments",
		"/v2/commentannotations/read/set":                   "CommentAnnotations.SetRead",
		"/v2/notifications/config/get":                      "Notifications.GetConfig",
		"/v2/webhooks/secrets/rotate":                       "Webhooks.RotateSecrets",
		"/v2/organizations/access/disablestate/update":      "Organizations.UpdateAccessDisableState",
		"/v2/organizations/usergroups/users/add":            "Organizations.AddUserGroupsUsers",
		"/v2/auth/generate_token":                           "Auth.GenerateToken",
		"/v2/users/data/delete":                             "Users.DeleteData",
		"/v2/users/data/delete/status":                      "Users.DeleteDataStatus",
		"/v2/organizations/folders/access/update":           "Organizations.UpdateFoldersAccess",
		"/v1/organizations/folders/get":                     "Organizations.GetFoldersV1",
		"/v2/commentannotations/comments/organizations/get": "CommentAnnotations.GetCommentsOrganizations",
	}
	for path := range paths {
		all[path] = true
	}
	for path, want := range paths {
		if n := nameOf(path, all); n.group+"."+n.method != want {
			t.Errorf("%s is %s.%s, want %s", path, n.group, n.method, want)
		}
	}
}
