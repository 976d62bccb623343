package directory

import (
	"context"
	"slices"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// FindMembers returns members after a position, each once: the query's users in their order, its
// groups one by one in id order, or all in id order. It examines up to limit users. next is the
// position to continue at, nil at the end. Results by folder or document may be a second old.
func (s *Store) FindMembers(
	ctx context.Context, q collab.MemberQuery, at collab.MemberPosition, limit int,
) (list []collab.FoundMember, next *collab.MemberPosition, err error) {
	if q.Users == nil && q.Groups == nil {
		if q.AllDocuments {
			return s.documentMembers(ctx, q, keys.GrantPartition(q.In.OrganizationRef), store.Everything, at, limit)
		}
		return s.listMembers(ctx, q.In, at, limit)
	}
	users, next, err := s.candidates(ctx, q, at, limit)
	if err != nil {
		return nil, nil, err
	}
	if !q.AllDocuments {
		byUser, err := s.MembersAt(ctx, q.In, idsOfPositions(users))
		if err != nil {
			return nil, nil, err
		}
		for _, p := range users {
			if m, ok := byUser[p.User]; ok {
				list = append(list, collab.FoundMember{Member: m, In: q.In, Position: p})
			}
		}
		return list, next, nil
	}
	for len(users) > 0 {
		now := users[:min(len(users), store.Concurrency, limit-len(list))]
		users = users[len(now):]
		parts, err := s.grantsOfEach(ctx, q, now, at, (limit-len(list))/len(now))
		if err != nil {
			return nil, nil, err
		}
		for i, p := range now {
			found, more := parts[i].list, parts[i].more
			if room := limit - len(list) - len(found); more != nil && room > 0 {
				rest, further, err := s.grantsOf(ctx, q, *more, room)
				if err != nil {
					return nil, nil, err
				}
				found, more = append(found, rest...), further
			} else if room < 0 {
				found = found[:len(found)+room]
				more = &found[len(found)-1].Position
			}
			if list = append(list, found...); more != nil {
				return list, more, nil
			}
			if len(list) == limit {
				return list, &p, nil
			}
		}
	}
	return list, next, nil
}

type userGrants struct {
	list []collab.FoundMember
	more *collab.MemberPosition
}

// grantsOfEach calls grantsOf concurrently for several users, each with most grants. The user at
// position at continues there.
func (s *Store) grantsOfEach(
	ctx context.Context, q collab.MemberQuery, users []collab.MemberPosition, at collab.MemberPosition, limit int,
) ([]userGrants, error) {
	parts := make([]userGrants, len(users))
	err := store.Each(ctx, len(users), func(ctx context.Context, i int) (err error) {
		from := users[i]
		if from.User == at.User && from.Group == at.Group {
			from.Grant = at.Grant
		}
		parts[i].list, parts[i].more, err = s.grantsOf(ctx, q, from, limit)
		return err
	})
	return parts, err
}

// grantsOf is documentMembers for one user of a group.
func (s *Store) grantsOf(
	ctx context.Context, q collab.MemberQuery, at collab.MemberPosition, limit int,
) (list []collab.FoundMember, next *collab.MemberPosition, err error) {
	span := store.Children(keys.GrantsOf(at.User))
	list, next, err = s.documentMembers(ctx, q, keys.GrantPartition(q.In.OrganizationRef), span, at, limit)
	for i := range list {
		list[i].Position.Group = at.Group
	}
	if next != nil {
		next.Group = at.Group
	}
	return list, next, err
}

func (s *Store) candidates(
	ctx context.Context, q collab.MemberQuery, at collab.MemberPosition, limit int,
) (users []collab.MemberPosition, next *collab.MemberPosition, err error) {
	org := q.In.OrganizationRef
	resume := at.Grant != "" // in the middle of a user
	if q.Users != nil {
		i := slices.Index(q.Users, at.User)
		if !resume {
			i++
		}
		for _, u := range q.Users[max(i, 0):] {
			if len(users) == limit {
				next = &users[limit-1]
				break
			}
			users = append(users, collab.MemberPosition{User: u})
		}
		users, err = s.within(ctx, org, q.Groups, slices.Clone(users))
		return users, next, err
	}
	if at.Group < 0 || at.Group >= len(q.Groups) {
		return nil, nil, collab.PageTokenError(nil)
	}
	if resume {
		users = append(users, collab.MemberPosition{Group: at.Group, User: at.User})
	}
	ids, err := s.GroupUsers(ctx, org, q.Groups[at.Group], at.User, limit)
	if err != nil {
		return nil, nil, err
	}
	for _, u := range ids {
		users = append(users, collab.MemberPosition{Group: at.Group, User: u})
	}
	switch {
	case len(ids) == limit:
		next = &users[len(users)-1]
	case at.Group+1 < len(q.Groups):
		next = &collab.MemberPosition{Group: at.Group + 1}
	}
	earlier, err := s.within(ctx, org, q.Groups[:at.Group], users)
	if err != nil || len(q.Groups[:at.Group]) == 0 {
		return users, next, err
	}
	return slices.DeleteFunc(slices.Clone(users), func(p collab.MemberPosition) bool { return slices.Contains(earlier, p) }), next, nil
}

// within returns the users that are in any of the groups, or all users if groups is nil.
func (s *Store) within(
	ctx context.Context, org collab.OrganizationRef, groups []string, users []collab.MemberPosition,
) (in []collab.MemberPosition, err error) {
	if groups == nil {
		return users, nil
	}
	var itemKeys []keys.Key
	for _, p := range users {
		for _, g := range groups {
			itemKeys = append(itemKeys, keys.GroupUser(org, g, p.User))
		}
	}
	found, err := s.GetAll(ctx, itemKeys, true)
	for i, p := range users {
		if slices.ContainsFunc(itemKeys[i*len(groups):(i+1)*len(groups)], func(k keys.Key) bool { return found[k] != nil }) {
			in = append(in, p)
		}
	}
	return in, err
}

func idsOfPositions(list []collab.MemberPosition) []string {
	return collab.Map(list, func(p collab.MemberPosition) string { return p.User })
}

// MembersIn returns the users of each resource among users, by id. It makes one strongly consistent
// batch read, one unit for each user and resource.
func (s *Store) MembersIn(ctx context.Context, users []string, on ...collab.Resource) ([]map[string]collab.Member, error) {
	var itemKeys []keys.Key
	for _, in := range on {
		for _, user := range users {
			itemKeys = append(itemKeys, memberKey(in, user))
		}
	}
	found, err := s.GetAll(ctx, itemKeys, true)
	if err != nil {
		return nil, err
	}
	list := make([]map[string]collab.Member, len(on))
	for i, k := range itemKeys {
		place, user := i/len(users), users[i%len(users)]
		if list[place] == nil {
			list[place] = map[string]collab.Member{}
		}
		if it := found[k]; it != nil {
			if list[place][user], err = readMemberItem(it, func(store.Item) (string, error) { return user, nil }); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// MembersAt is MembersIn for one resource.
func (s *Store) MembersAt(ctx context.Context, in collab.Resource, users []string) (map[string]collab.Member, error) {
	list, err := s.MembersIn(ctx, users, in)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// listMembers is FindMembers for all members of a resource.
func (s *Store) listMembers(
	ctx context.Context, in collab.Resource, at collab.MemberPosition, limit int,
) (list []collab.FoundMember, next *collab.MemberPosition, err error) {
	users, last, err := s.listUsers(ctx, in, at.User, limit)
	if err != nil {
		return nil, nil, err
	}
	if last != "" {
		next = &collab.MemberPosition{User: last}
	}
	byUser, err := s.read(ctx, in, users)
	if err != nil {
		return nil, nil, err
	}
	for _, u := range users {
		if m, ok := byUser[u.UserID]; ok {
			list = append(list, collab.FoundMember{Member: m, In: in, Position: collab.MemberPosition{User: u.UserID}})
		}
	}
	return list, next, nil
}

// listUsers returns the members of a resource after an id, in id order. Those of a folder or
// document have only their ids, up to a second old: see read. last is the last one if there may be
// more, else "".
func (s *Store) listUsers(ctx context.Context, in collab.Resource, after string, limit int) (users []collab.Member, last string, err error) {
	q := store.Scan{PK: keys.OrganizationPartition(in.OrganizationRef), Keys: store.Children(keys.Members), Strong: true}
	if in.Folder.Folder != "" || in.Document.Document != "" {
		q = store.Scan{Index: keys.IndexIn, PK: membersOf(in), Keys: store.Children(keys.Members)}
	}
	users, err = store.ListAfter(ctx, s.Table, q, keys.Members, after, limit, func(it store.Item) (collab.Member, error) {
		if q.Index == "" {
			return readMember(it)
		}
		user, err := keys.Unescape(it.Text(keys.DocAnn)[len(keys.Members):])
		return collab.Member{User: collab.User{UserID: user}}, err
	})
	if len(users) == limit {
		last = users[limit-1].UserID
	}
	return users, last, err
}

// read returns users that listUsers listed, by id, without the ones that are no members any more.
func (s *Store) read(ctx context.Context, in collab.Resource, users []collab.Member) (map[string]collab.Member, error) {
	if (in.Folder.Folder != "" || in.Document.Document != "") && len(users) > 0 {
		return s.MembersAt(ctx, in, collab.Map(users, func(m collab.Member) string { return m.UserID }))
	}
	members := make(map[string]collab.Member, len(users))
	for _, m := range users {
		members[m.UserID] = m
	}
	return members, nil
}

// MembersOf returns the profiles of users of the levels of a resource after an id, each once: see
// Levels. The users are those in named, in order, or all in id order if named is nil. It examines
// at most limit users. last is the last one examined, "" at the end.
func (s *Store) MembersOf(
	ctx context.Context, in []collab.Resource, named []string, after string, limit int,
) (list []collab.Profile, last string, err error) {
	parts := make([]map[string]collab.Member, len(in))
	if named != nil {
		ids := named[slices.Index(named, after)+1:]
		if len(ids) > limit {
			ids = ids[:limit]
			last = ids[limit-1]
		}
		err = store.Each(ctx, len(in), func(ctx context.Context, i int) (err error) {
			parts[i], err = s.MembersAt(ctx, in[i], ids)
			return err
		})
		return profilesOf(parts, ids), last, err
	}
	users := make([][]collab.Member, len(in))
	ends := make([]string, len(in)) // the last user read of each resource
	err = store.Each(ctx, len(in), func(ctx context.Context, i int) (err error) {
		users[i], ends[i], err = s.listUsers(ctx, in[i], after, limit)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	byKey := func(a, b string) int { return strings.Compare(keys.Escape(a), keys.Escape(b)) }
	ids := collab.Map(slices.Concat(users...), func(m collab.Member) string { return m.UserID })
	slices.SortFunc(ids, byKey)
	ids = slices.Compact(ids)
	if ends = collab.Where(ends, func(id string) bool { return id != "" }); len(ends) > 0 {
		last = slices.MinFunc(ends, byKey)
	}
	if ids = collab.Where(ids, func(id string) bool { return last == "" || byKey(id, last) <= 0 }); len(ids) > limit {
		ids = ids[:limit]
		last = ids[limit-1]
	}
	err = store.Each(ctx, len(in), func(ctx context.Context, i int) (err error) {
		part := collab.Where(users[i], func(m collab.Member) bool { return len(ids) > 0 && byKey(m.UserID, ids[len(ids)-1]) <= 0 })
		parts[i], err = s.read(ctx, in[i], part)
		return err
	})
	return profilesOf(parts, ids), last, err
}

// profilesOf returns the users with ids that a part has, each once: see collab.Profile.
func profilesOf(parts []map[string]collab.Member, ids []string) (list []collab.Profile) {
	profiles := collab.Profiles{}
	for _, part := range parts {
		for _, id := range ids {
			if m, ok := part[id]; ok {
				profiles[id] = profiles[id].Or(collab.ProfileOf(m))
			}
		}
	}
	for _, id := range ids {
		if p, ok := profiles[id]; ok {
			list = append(list, p)
		}
	}
	return list
}

// documentMembers is FindMembers for the grants in a span of an organization's grants on documents:
// all grants, or the first of each user. It omits deleted and disabled documents.
func (s *Store) documentMembers(
	ctx context.Context, q collab.MemberQuery, partition string, span store.Span, at collab.MemberPosition, limit int,
) (list []collab.FoundMember, next *collab.MemberPosition, err error) {
	org := q.In.OrganizationRef
	items, more, err := s.QueryPage(ctx, store.Scan{PK: partition, Keys: span.After(at.Grant), Limit: limit, Strong: true})
	if err != nil {
		return nil, nil, err
	}
	var docs []collab.DocumentRef
	for _, it := range items {
		sk := it.Text(keys.SK)
		user, doc, _, _, err := keys.ParseGrant(org, sk)
		if err != nil {
			return nil, nil, store.Unreadable(it.Key(), err)
		}
		at = collab.MemberPosition{User: user, Grant: sk}
		if doc.Document == "" {
			continue
		}
		m, err := readMemberItem(it, func(store.Item) (string, error) { return user, nil })
		if err != nil {
			return nil, nil, err
		}
		list, docs = append(list, collab.FoundMember{Member: m, In: doc.Resource(), Position: at}), append(docs, doc)
	}
	current, err := s.Current(ctx, org, docs)
	if err != nil {
		return nil, nil, err
	}
	listed := list[:0]
	for i, m := range list {
		switch last := len(listed) - 1; {
		case !current[docs[i]]:
		case q.EachDocument:
			listed = append(listed, m)
		case last < 0 || listed[last].UserID != m.UserID:
			m.Position.Grant = keys.AfterGrants(m.UserID)
			listed = append(listed, m)
		}
	}
	if last := len(listed) - 1; !q.EachDocument && last >= 0 && listed[last].UserID == at.User {
		at = listed[last].Position
	}
	if more {
		next = &at
	}
	return listed, next, nil
}
