package delivery

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store/inbox"
	"collabdata/shared/webhook"
)

// Payload returns the body of an event's webhook posts. What a clicked notification sends back may be too large for an event: then it is
// read from the notification, as it is now.
func Payload(ctx context.Context, in *inbox.Store, ev *collab.Event) ([]byte, error) {
	if ev.Type == collab.NotificationClicked && ev.Truncated && ev.Notification != nil && ev.Notification.SourceData == nil {
		stored, err := in.Notification(ctx, ev.Document().OrganizationRef, ev.Notification.ID)
		if err != nil && collab.CodeOf(err) != collab.NotFound {
			return nil, err
		}
		clicked := *ev.Notification
		clicked.SourceData = stored.SourceData
		whole := *ev
		whole.Notification = &clicked
		ev = &whole
	}
	return webhook.Payload(ev)
}
