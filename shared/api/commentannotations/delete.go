package commentannotations

import (
	"context"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// DeleteRequest deletes the annotations of a document that its selectors leave; without selectors, all of them.
type DeleteRequest struct {
	Target
	AnnotationIDs []string `json:"annotationIds" rule:"notnull,nonempty,max=500,each=id" person:"in" doc:"These, at most 500; the answer is in their order"`
	LocationIDs   []string `json:"locationIds" rule:"notnull,nonempty,max=500,each=id"`
	UserIDs       []string `json:"userIds" rule:"notnull,nonempty,max=500,each=id" person:"self"` // of the creators
}

// Delete is POST /v2/commentannotations/delete.
func Delete() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/commentannotations/delete", Grants: rpc.ReadTable | rpc.ReadIndexes | rpc.WriteTable | rpc.SendEvents,
		Person:    rpc.PersonWrites,
		Operation: rpc.Method((*Service).Delete), LeavesJob: true, Description: `
Deletes comment annotations with their comments. It deletes those of a document that pass all selectors given: annotationIds, locationIds
and userIds (of the creators). Without selectors these are all of the document; an empty array is refused. A deleted annotation is out of
reach at once, and its id may be added again: new and empty. jobId names what sweeps the rest of it: see jobs/get.

The response has a result for each by id: in the order of annotationIds, else by id. An item fails with NOT_FOUND where there is no
annotation with its id, or where another selector leaves it out, and for a person with PERMISSION_DENIED if somebody else created it, and
with FAILED_PRECONDITION where others have commented. Without annotationIds the call deletes and lists 1,000; where the selection has more, the job deletes the others
in seconds, but none that is added later. With the account's setting allEvents each is posted to webhooks as comment_annotation.deleted.

NOT_FOUND when the organization or the document does not exist. FAILED_PRECONDITION when the organization is disabled.`}
}

// Delete deletes annotations with their comments, each by itself: see threads.Store.DeleteAnnotations. The answer has them by id: in the
// order of annotationIds where those are given, else by id, at most collab.MaxDeleted of them; a job deletes those beyond. An id that does
// not exist, or that another selector excludes, is that item's failure.
func (s *Service) Delete(ctx context.Context, call *rpc.Call, req *DeleteRequest) (rpc.Keyed[rpc.Item], error) {
	doc, err := s.begin(ctx, call, req.Target, CreateFlags{}, call.Settings.AllEvents)
	if err != nil {
		return nil, err
	}
	ids := rpc.Distinct(req.AnnotationIDs)
	seen, creators, err := s.seen(ctx, call, doc, ids)
	if err != nil {
		return nil, err
	}
	var errs []error
	if ids == nil || len(seen) > 0 {
		seen, errs, err = s.Threads.DeleteAnnotations(ctx, call.Request, doc, seen, collab.AnnotationDeletion{
			Selector:   collab.Selector{Locations: rpc.Distinct(req.LocationIDs), Creators: rpc.Distinct(req.UserIDs)},
			Unanswered: call.Person != nil, Notify: call.Settings.AllEvents,
		})
	}
	if err != nil {
		return nil, err
	}
	if ids == nil {
		ids = seen
	}
	errs = outcomes(doc, ids, seen, errs)
	for i, err := range errs {
		if creator, there := creators[ids[i]]; collab.CodeOf(err) == collab.NotFound && there && creator != call.Person.UserID {
			errs[i] = collab.Errorf(collab.PermissionDenied, "only its author may delete an annotation")
		} else if collab.CodeOf(err) == collab.NotFound {
			errs[i] = collab.Errorf(collab.NotFound, "Annotation not found.")
		}
	}
	call.Message = "Annotations deleted successfully."
	if slices.Contains(errs, nil) {
		call.JobID = call.Request.JobID()
	}
	return call.Outcomes(ids, errs, "Deleted Successfully"), nil
}
