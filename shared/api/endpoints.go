// Package api is the table of endpoints. Nothing else lists them: the local server and the functions serve it, the CDK app deploys it,
// the OpenAPI document and the README's table are made of it, tests hold the mains and the script tests against it.
package api

// Endpoints returns the table of endpoints, in the order of the contract, its extensions behind it. Each row is a function of its own, so that
// the program of one endpoint holds its own operation and no other: a change of that leaves all other programs as they are.
func Endpoints() []Endpoint {
	return []Endpoint{
		V2CommentannotationsAdd(),
		V1CommentannotationsAdd(),
		V2CommentannotationsGet(),
		V1CommentannotationsGet(),
		V2CommentannotationsUpdate(),
		V2CommentannotationsCommentsAdd(),
		V2CommentannotationsCommentsUpdate(),
		V2CommentannotationsCommentsGet(),
		V2OrganizationsGet(),
		V1OrganizationsFoldersGet(),
		V2NotificationsConfigGet(),
		V2NotificationsAdd(),
		V1NotificationsAdd(),
		V2NotificationsGet(),
		V2NotificationsUpdate(),
		V2NotificationsConfigSet(),
		V2NotificationsUnsubscribe(),
		V2WebhooksAdd(),
		V2WebhooksGet(),
		V2WebhooksUpdate(),
		V2WebhooksDelete(),
		V2WebhooksSecretsRotate(),
		V2WebhooksDeliveriesGet(),
		V2WebhooksDeliveriesReplay(),
	}
}
