package commentannotations

import (
	"context"
	"fmt"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// DeleteRequest deletes the annotations that match all selectors, or every annotation of the
// document if it has no selectors.
type DeleteRequest struct {
	Target
	AnnotationIDs []string `json:"annotationIds" rule:"notnull,nonempty,max=500,each=id" person:"in" doc:"Only these, at most 500; the response has their order"`
	LocationIDs   []string `json:"locationIds" rule:"notnull,nonempty,max=500,each=id"`
	UserIDs       []string `json:"userIds" rule:"notnull,nonempty,max=500,each=id" person:"self"` // of the creators
	AgentID       *string  `json:"agentId" rule:"notnull,id" doc:"With this agentId in its agent"`

	AgentSuggestions *bool    `json:"agentSuggestions" rule:"notnull,true" doc:"Only pending suggestions with an agent"`
	AgentURLs        []string `json:"agentUrls" rule:"notnull,nonempty,max=30,each=nonempty,each=max=2000" doc:"With one of these pages as the url in its agent; fragments do not count"`
}

// Validate rejects agentUrls without a page.
func (r *DeleteRequest) Validate(m *rpc.Violations) {
	for i, url := range r.AgentURLs {
		if url != "" && collab.Page(url) == "" {
			m.Add(fmt.Sprintf("agentUrls[%d]", i), "must name a page")
		}
	}
}

func (r *DeleteRequest) Fill(_ *collab.Person, m *rpc.Violations) { checkNamed(m, r.AnnotationIDs) }

// agent returns the selector of agents, nil for none.
func (r *DeleteRequest) agent() *collab.AgentFilter {
	if r.AgentID == nil && r.AgentSuggestions == nil && r.AgentURLs == nil {
		return nil
	}
	f := &collab.AgentFilter{ID: collab.Deref(r.AgentID), Suggestions: r.AgentSuggestions != nil}
	if r.AgentURLs != nil {
		f.Pages = rpc.Distinct(collab.Map(r.AgentURLs, collab.Page))
	}
	return f
}

// Delete is POST /v2/commentannotations/delete.
func Delete() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/commentannotations/delete", Grants: rpc.ReadTable | rpc.ReadIndexes | rpc.WriteTable | rpc.SendEvents,
		Person:    rpc.PersonWrites,
		Operation: rpc.Method((*Service).Delete), LeavesJob: true, Description: `
Delete threads.

Deletes threads with their comments. Selectors combine: annotationIds, locationIds, userIds (the
creators), agentId, agentSuggestions and agentUrls. Those of agents compare the agent of the
annotation. Without selectors, all annotations of the document are deleted. An empty array is
refused. A deleted annotation is unavailable at once, and its id can be reused. jobId is the job
that removes the rest: see 'jobs/get'.

The response has a result for each annotation by id, in the order of annotationIds, else by id. An
item fails with NOT_FOUND if the annotation does not exist or another selector excludes it. For a
person, it fails with PERMISSION_DENIED if another user created the annotation, and with
FAILED_PRECONDITION if others have commented.

Without annotationIds, the call deletes and lists 1,000 annotations. If the selection has more,
the job deletes the others within seconds, but none added later. If the account's setting
allEvents is on, each deletion is posted to webhooks as 'comment_annotation.deleted'.

The request fails with NOT_FOUND if the organization or the document does not exist. It fails with
FAILED_PRECONDITION if the organization is disabled, or if a selector of agents would have to look
at more than 10,000 annotations.`}
}

// Delete deletes annotations with their comments.
func (s *Service) Delete(ctx context.Context, call *rpc.Call, req *DeleteRequest) (rpc.Keyed[rpc.Item], error) {
	doc, err := s.begin(ctx, call, req.Target, CreateFlags{}, call.Settings.AllEvents)
	if err != nil {
		return nil, err
	}
	ids := rpc.Distinct(req.AnnotationIDs)
	refused, err := s.refusedDeletions(ctx, call, doc, ids)
	if err != nil {
		return nil, err
	}
	deleted, errs := ids, []error(nil)
	if ids != nil {
		deleted = collab.Where(ids, func(id string) bool { return refused[id] == nil })
	}
	if ids == nil || len(deleted) > 0 {
		deleted, errs, err = s.Threads.DeleteAnnotations(ctx, call.Request, doc, deleted, collab.AnnotationDeletion{
			Selector: collab.Selector{
				Locations: rpc.Distinct(req.LocationIDs), Creators: rpc.Distinct(req.UserIDs), Agent: req.agent(),
			},
			Unanswered: call.Person != nil, Notify: call.Settings.AllEvents,
		})
	}
	if err != nil {
		return nil, err
	}
	if ids == nil {
		ids = deleted
	}
	outcomes := make([]error, len(ids))
	for i, id := range ids {
		outcomes[i] = refused[id]
		if n := slices.Index(deleted, id); n >= 0 {
			outcomes[i] = errs[n]
		}
		if collab.CodeOf(outcomes[i]) == collab.NotFound {
			outcomes[i] = collab.Errorf(collab.NotFound, "Annotation not found.")
		}
	}
	call.Message = "Annotations deleted successfully."
	if slices.Contains(outcomes, nil) {
		call.JobID = call.Request.JobID()
	}
	return call.Outcomes(ids, outcomes, "Deleted Successfully"), nil
}

// refusedDeletions returns the errors of annotations that the call's person cannot see or did not
// create, by id.
func (s *Service) refusedDeletions(ctx context.Context, call *rpc.Call, doc collab.DocumentRef, ids []string) (map[string]error, error) {
	if call.Person == nil {
		return nil, nil
	}
	r, err := s.rights(ctx, call, doc, nil)
	if err != nil {
		return nil, err
	}
	refused := map[string]error{}
	for _, id := range ids {
		a, err := s.Threads.Head(ctx, doc, id)
		if collab.CodeOf(err) == collab.NotFound { // or deleted by an earlier attempt
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := r.check(doc, &a, nil); err != nil {
			refused[id] = err
		} else if a.CreatorID != call.Person.UserID {
			refused[id] = collab.Errorf(collab.PermissionDenied, "only its author can delete an annotation")
		}
	}
	return refused, nil
}
