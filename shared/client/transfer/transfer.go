// Package transfer exports an organization to a file, and imports a file into another account,
// another deployment, or from another service with the same operations.
//
// # The file
//
// README.md describes the lines: each is a JSON object with its kind, and the fields of the
// operation that adds it.
//
// A file omits deleted things; notifications, events and webhooks; and times of folders, documents
// and users, which no operation sets. The table of kinds in package keys gives the reasons.
//
// Every file has all unsubscribed addresses of its account, because their hashes do not identify
// the users of the organization.
package transfer

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/client"
)

// MaxLine is the maximum length of a line, in bytes.
const MaxLine = 5 << 20

// Kind is the subject of a line.
type Kind string

// Kinds.
const (
	Organization Kind = "organization"
	Folder       Kind = "folder"
	Document     Kind = "document"
	Annotation   Kind = "annotation"
	Comment      Kind = "comment"
	User         Kind = "user"
	Grant        Kind = "grant"
	Group        Kind = "group"
	Preference   Kind = "preference"
	ReadState    Kind = "readState"
	Unsubscribed Kind = "unsubscribed"
	Removal      Kind = "removal"
	Level        Kind = "level"
)

// Kinds returns all kinds, in the order of their first lines in an exported file.
func Kinds() []Kind {
	return []Kind{
		Organization, Unsubscribed, Removal, Folder, Group, Document, Level, Annotation, Comment, Grant, User, Preference, ReadState,
	}
}

// Progress is the progress of an export or import.
type Progress struct {
	Organization string // that it is about
	Lines        int64  // from the beginning: written, or added, existing or refused
	Kind         Kind   // of the last line
}

// Fields of lines: those of the operation, without the organization and the operation's options.
type (
	organizationLine struct {
		client.NewOrganization
		Disabled bool `json:"disabled"`
	}
	documentLine struct {
		client.NewDocument
		FolderID   string        `json:"folderId"`
		AccessType client.Access `json:"accessType"`
		Disabled   bool          `json:"disabled"`
	}
	annotationLine struct {
		client.NewAnnotation
		DocumentID            string      `json:"documentId"`
		From                  client.User `json:"from"`
		StatusUpdatedByUserID string      `json:"statusUpdatedByUserId"`
		ResolvedByUserID      string      `json:"resolvedByUserId"`
		ResolvedAt            time.Time   `json:"resolvedAt"`
		SourceType            string      `json:"sourceType"`
	}
	commentLine struct {
		client.NewComment
		DocumentID   string `json:"documentId"`
		AnnotationID string `json:"annotationId"`
	}
	userLine struct {
		client.NewUser
		DocumentID string `json:"documentId"`
		FolderID   string `json:"folderId"`
	}
	grantLine struct {
		UserID     string              `json:"userId"`
		Type       client.ResourceType `json:"type"`
		ID         string              `json:"id"`
		AccessRole client.Role         `json:"accessRole"`
		ExpiresAt  int64               `json:"expiresAt"`
	}
	groupLine struct {
		client.NewGroup
		UserIDs []string `json:"userIds"`
	}
	preferenceLine struct {
		UserID        string                `json:"userId"`
		DocumentID    string                `json:"documentId"`
		Config        client.ChannelsChange `json:"config"`
		MailFrequency client.MailFrequency  `json:"mailFrequency"`
		MailDay       client.Weekday        `json:"mailDay"`
		MailHour      int64                 `json:"mailHour"`
		QuietHours    client.QuietHours     `json:"quietHours"`
		TimeZone      string                `json:"timeZone"`
	}
	readStateLine struct {
		DocumentID   string `json:"documentId"`
		UserID       string `json:"userId"`
		AnnotationID string `json:"annotationId"`
		Read         bool   `json:"read"`
		ReadAt       int64  `json:"readAt"`
	}
	unsubscribedLine struct {
		UserID         string `json:"userId"`
		Address        string `json:"address"`
		UnsubscribedAt int64  `json:"unsubscribedAt"`
	}
	removalLine struct {
		UserID     string `json:"userId"`
		DocumentID string `json:"documentId"`
		FolderID   string `json:"folderId"`
		RemovedAt  int64  `json:"removedAt"`
		GrantOnly  bool   `json:"grantOnly"`
		Opened     bool   `json:"opened"`
	}
	levelLine struct {
		DocumentID   string       `json:"documentId"`
		AnnotationID string       `json:"annotationId"`
		UserID       string       `json:"userId"`
		Level        client.Level `json:"level"`
	}
)

// form describes the lines of a kind.
type form struct {
	*shape
	ids []string // required fields; the last one identifies the thing
}

var forms = map[Kind]form{
	Organization: {shapeOf[organizationLine](), []string{"organizationId"}},
	Folder:       {shapeOf[client.NewFolder](), []string{"folderId"}},
	Document:     {shapeOf[documentLine](), []string{"documentId"}},
	Annotation:   {shapeOf[annotationLine](notInLines...), []string{"documentId", "annotationId"}},
	Comment:      {shapeOf[commentLine](notInLines...), []string{"documentId", "annotationId", "commentId"}},
	User:         {shapeOf[userLine](), []string{"userId"}},
	Grant:        {shapeOf[grantLine](), []string{"userId", "type", "id"}},
	Group:        {shapeOf[groupLine](), []string{"groupId"}},
	Preference:   {shapeOf[preferenceLine](), []string{"userId"}},
	ReadState:    {shapeOf[readStateLine](), []string{"read", "readAt", "documentId", "userId"}},
	Unsubscribed: {shapeOf[unsubscribedLine](), []string{"unsubscribedAt"}},
	Removal:      {shapeOf[removalLine](), []string{"removedAt", "userId"}},
	Level:        {shapeOf[levelLine](), []string{"documentId", "level", "userId"}},
}

// notInLines are fields of operations that lines omit: comments have their own lines, an import
// notifies nobody, and the last one is another name of visibility.
var notInLines = []string{"commentData", "comments", "triggerNotification", "triggerActivities", "visibilityConfig"}

// object is a JSON object with ordered members.
type object = client.Keyed[jsontext.Value]

// parse returns a value as an object, or nil.
func parse(value jsontext.Value) (o object) {
	if value.Kind() != '{' || json.Unmarshal(value, &o) != nil {
		return nil
	}
	return o
}

// value returns an object as JSON.
func value(o object) jsontext.Value {
	text := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			text = append(text, ',')
		}
		text, _ = jsontext.AppendQuote(text, m.Key) // keys of parsed JSON are valid UTF-8
		text = append(append(text, ':'), m.Value...)
	}
	return append(text, '}')
}

// array returns a JSON array.
func array(list []jsontext.Value) jsontext.Value {
	text := []byte{'['}
	for i, v := range list {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, v...)
	}
	return append(text, ']')
}

// quoted returns a text as JSON.
func quoted(text string) jsontext.Value {
	b, _ := jsontext.AppendQuote(nil, text) // as in value
	return b
}

// textOf returns a member as text, or "".
func textOf(o object, name string) (text string) {
	member, _ := o.Get(name)
	if member.Kind() == '"' {
		b, _ := jsontext.AppendUnquote(nil, member)
		text = string(b)
	}
	return text
}

func isTrue(o object, name string) bool {
	member, _ := o.Get(name)
	return member.Kind() == 't'
}

// with sets a member in a copy of an object.
func with(o object, name string, v jsontext.Value) object {
	return append(without(o, name), client.Member[jsontext.Value]{Key: name, Value: v})
}

// without removes members from a copy of an object.
func without(o object, names ...string) object {
	return slices.DeleteFunc(slices.Clone(o), func(m client.Member[jsontext.Value]) bool { return slices.Contains(names, m.Key) })
}

// escapeKind returns the name of a further field in a line, because kind is taken. See cutEscape.
func escapeKind(name string) string {
	if strings.TrimLeft(name, "_") == "kind" {
		return "_" + name
	}
	return name
}

func writeLine(w io.Writer, kind Kind, fields object) error {
	line := object{{Key: "kind", Value: quoted(string(kind))}}
	text := append(value(append(line, fields...)), '\n')
	if len(text) > MaxLine {
		return fmt.Errorf("a %s has %d bytes as a line: at most %d", kind, len(text), MaxLine)
	}
	_, err := w.Write(text)
	return err
}
