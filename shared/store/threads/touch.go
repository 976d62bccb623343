package threads

import (
	"context"
	"maps"
	"strconv"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// quarter is the grid, in milliseconds, on which a busy thread's time key stands.
const quarter = 250

// keyFor returns where a thread's time key, which stands at key, has to stand for a comment of the time at: where it stands, if that is
// late enough; at the comment's time itself in a thread that was quiet for a quarter of a second; else at the end of that quarter.
func keyFor(key, at collab.Millis) collab.Millis {
	switch {
	case key >= at:
		return key
	case key < at-quarter:
		return at
	}
	return min((at/quarter+1)*quarter, collab.MaxMillis)
}

// setTimeKey sets a head's time key, and the indexes' keys that hold it.
func (s *Store) setTimeKey(ctx context.Context, it store.Item, doc collab.DocumentRef, ann string, key collab.Millis) error {
	shards, err := s.Directory.Shards(ctx, doc.OrganizationRef)
	if err != nil {
		return err
	}
	it[table.Upd] = store.Text(table.UpdatedInDocument(key, ann))
	it[table.Org] = store.Text(table.UpdatedPartition(doc.Account, doc.Organization, shards.Of(doc.Document)))
	it[table.OrgUpd] = store.Text(table.UpdatedInOrganization(key, doc.Document, ann))
	return nil
}

// timeKey returns where the time key of a stored head stands.
func timeKey(it store.Item) collab.Millis {
	digits, _, _ := strings.Cut(it.Text(table.Upd), "#")
	key, _ := strconv.ParseInt(digits, 10, 64)
	return key
}

// touch makes a thread ready for a comment of the time at to be put: its time key is not earlier then, and by, unless nil, is its creator
// where it had none. It returns the head as it was. It fails with NOT_FOUND when the annotation does not exist. It reads the head first where
// the time key was seen to be late enough; else it first tries what is right in a thread as it was seen, or in a quiet one, and what the head
// is comes back either way.
func (s *Store) touch(ctx context.Context, doc collab.DocumentRef, ann string, at collab.Millis, by *collab.Comment) (store.Item, error) {
	k := table.Annotation(doc.Account, doc.Organization, doc.Document, ann)
	ready := func(head store.Item) bool { return timeKey(head) >= at && (by == nil || head[table.Creator] != nil) }
	key, bound := at, at-quarter
	switch seen := s.busy.seen(k); {
	case seen >= at:
		head, err := s.Get(ctx, k)
		if err != nil || ready(head) {
			return head, err
		}
	case seen >= bound:
		key = keyFor(seen, at)
		bound = key
	}
	for {
		w, err := s.touching(ctx, doc, ann, at, key, bound, by)
		if err != nil {
			return nil, err
		}
		before, refused, err := s.WriteOne(ctx, w, types.ReturnValueAllOld)
		if err != nil {
			return nil, err
		}
		if refused == nil {
			s.busy.note(k, key)
			return before, nil
		}
		there := refused.Of[0].There
		if there == nil {
			return nil, annotationMissing(doc, ann)
		}
		s.busy.note(k, timeKey(there))
		if ready(there) {
			return there, nil
		}
		if key = keyFor(timeKey(there), at); key > timeKey(there) {
			bound = key
		} else {
			bound = 0 // only the creator is missing
		}
	}
}

// touching is the write of one try to touch a thread: its time key moves to key on condition that it stands before bound; for a bound of 0
// it stays.
func (s *Store) touching(ctx context.Context, doc collab.DocumentRef, ann string, at, key, bound collab.Millis, by *collab.Comment,
) (store.Write, error) {
	set, condition := "SET ", "attribute_exists(#pk)"
	names, values := map[string]string{"#pk": table.PK}, map[string]types.AttributeValue{}
	if bound != 0 {
		keys := store.Item{}
		if err := s.setTimeKey(ctx, keys, doc, ann, key); err != nil {
			return store.Write{}, err
		}
		set += "#upd = :upd, #org = :org, #orgu = :orgu, #lu = :lu"
		condition += " AND #upd < :bound"
		maps.Copy(names, map[string]string{"#upd": table.Upd, "#org": table.Org, "#orgu": table.OrgUpd, "#lu": table.LastUpdated})
		values[":upd"], values[":org"], values[":orgu"] = keys[table.Upd], keys[table.Org], keys[table.OrgUpd]
		values[":lu"], values[":bound"] = store.Number(at), store.Text(table.Time(max(bound, 0)))
		if by != nil {
			set += ", "
		}
	}
	if by != nil {
		set += "#from = if_not_exists(#from, :from), #cr = if_not_exists(#cr, :cr), #by = if_not_exists(#by, :by)"
		maps.Copy(names, map[string]string{"#from": table.From, "#cr": table.Creator, "#by": table.By})
		values[":from"], values[":cr"] = store.Text(string(by.From)), store.Text(by.AuthorID)
		values[":by"] = store.Text(table.CreatorPartition(doc.Account, doc.Organization, by.AuthorID))
	}
	k := table.Annotation(doc.Account, doc.Organization, doc.Document, ann)
	return s.Update(k, set, condition, names, values), nil
}
