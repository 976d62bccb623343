package collab

import "slices"

// AnnotationQuery selects annotations of an organization. All filters combine; nil or "" is no
// filter. Slices except IDs have no repeats.
type AnnotationQuery struct {
	Documents []string // in the order requested; nil for the whole organization
	// The existing ones of Documents, in Folder; nil if Documents is nil.
	Found []DocumentRef
	// Only documents directly in this folder; RootFolder for those outside folders.
	Folder        string
	IDs           []string // annotation ids
	Locations     []string
	Creators      []string
	Statuses      []string
	Mentioned     []string // tagged in a comment
	ResolvedBy    []string
	Agent         *AgentFilter
	UnreadFor     string  // user id: threads report whether they have comments unread by this user
	UnreadOnly    bool    // only threads with unread comments
	Order         Order   // by lastUpdated; "" is the order implied by the other fields
	UpdatedAfter  *Millis // bounds are inclusive
	UpdatedBefore *Millis
	CreatedAfter  *Millis
	CreatedBefore *Millis
	Sight         Sight // only visible annotations; nil for all
}

// Order is a direction of lists.
type Order string

const (
	Ascending  Order = "asc"
	Descending Order = "desc"
)

func (Order) Values() []string { return texts(Ascending, Descending) }

// Selector limits an update or deletion within its document. A nil slice selects all.
type Selector struct {
	IDs       []string
	Locations []string
	Creators  []string
	Agent     *AgentFilter `json:",omitempty"`
	Before    string       // only annotations added by requests with a lower mark; "" for all
}

// Narrows reports whether it excludes annotations by their content.
func (s Selector) Narrows() bool { return s.Locations != nil || s.Creators != nil || s.Agent != nil }

// Excludes reports whether the selector's locations and creators exclude an annotation.
func (s Selector) Excludes(a *Annotation) bool {
	return s.Locations != nil && !slices.Contains(s.Locations, a.LocationID) || s.Creators != nil && !slices.Contains(s.Creators, a.CreatorID)
}
