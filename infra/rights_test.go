package main

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/api"
	"collabdata/shared/api/rpc"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/testing/must"

	"github.com/google/go-cmp/cmp"
)

// grants returns all that a role's policies allow, as texts `action on target if partitions`.
func (m made) grants(t *testing.T, roleID string) []string {
	t.Helper()
	role, ok := m.resources[roleID]
	if !ok || role.Type != "AWS::IAM::Role" {
		t.Fatalf("no role %s", roleID)
	}
	if managed := role.Properties["ManagedPolicyArns"]; managed != nil {
		t.Errorf("%s has managed policies: %v", roleID, managed)
	}
	var grants []string
	for _, p := range role.Properties["Policies"].([]any) {
		for _, s := range list(p.(map[string]any)["PolicyDocument"].(map[string]any)["Statement"]) {
			statement := s.(map[string]any)
			if statement["Effect"] != "Allow" {
				t.Fatalf("%s: unexpected statement %v", roleID, statement)
			}
			condition := ""
			if c, ok := statement["Condition"].(map[string]any); ok {
				var keys any
				if sender, ok := c["StringEquals"].(map[string]any); ok {
					keys = sender["ses:FromAddress"]
				} else {
					keys = c["ForAllValues:StringLike"].(map[string]any)["dynamodb:LeadingKeys"]
				}
				for _, k := range list(keys) {
					condition += " " + k.(string)
				}
				condition = " if" + condition
			}
			for _, action := range list(statement["Action"]) {
				for _, target := range list(statement["Resource"]) {
					grants = append(grants, action.(string)+" on "+m.describe(t, target)+condition)
				}
			}
		}
	}
	slices.Sort(grants)
	return grants
}

// list is the value as a list: CloudFormation writes a list of one as the one.
func list(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

// describe names a resource of a policy by its logical id without CDK's hash, such as Table or Table/index/index-in.
func (m made) describe(t *testing.T, target any) string {
	t.Helper()
	text, err := json.Marshal(target)
	must.Do(t, err)
	names := regexp.MustCompile(`"Fn::GetAtt":\["(\w+?)[0-9A-F]{8}","Arn"\]`).FindStringSubmatch(string(text))
	suffix := regexp.MustCompile(`"(/index/[\w-]+)"`).FindStringSubmatch(string(text))
	switch {
	case names == nil:
		return string(text)
	case suffix != nil:
		return names[1] + suffix[1]
	default:
		return names[1]
	}
}

// roles returns the role of each function, by the function's description.
func (m made) roles(t *testing.T) map[string]string {
	t.Helper()
	roles := map[string]string{}
	for _, f := range m.ofType("AWS::Lambda::Function") {
		role := f.Properties["Role"].(map[string]any)["Fn::GetAtt"].([]any)[0].(string)
		if slices.Contains(slices.Collect(maps.Values(roles)), role) {
			t.Errorf("two functions share the role %s", role)
		}
		roles[f.Properties["Description"].(string)] = role
	}
	return roles
}

// own is what every function may do: write its own log.
func own(grants []string) (rest []string, complete bool) {
	want := map[string]bool{"logs:CreateLogStream": false, "logs:PutLogEvents": false}
	for _, g := range grants {
		action, target, _ := strings.Cut(g, " on ")
		if _, ok := want[action]; ok && strings.HasSuffix(target, "Logs") {
			want[action] = true
			continue
		}
		rest = append(rest, g)
	}
	for _, seen := range want {
		if !seen {
			return rest, false
		}
	}
	return rest, true
}

// read and write are the grants of operations on items of the partitions.
func read(partitions string) []string {
	return grantsOn(partitions, "BatchGetItem", "GetItem", "Query")
}

func write(partitions string) []string {
	return append(change(partitions), grantsOn(partitions, "BatchWriteItem", "ConditionCheckItem")...)
}

func change(partitions string) []string {
	return grantsOn(partitions, "DeleteItem", "PutItem", "UpdateItem")
}

func grantsOn(partitions string, actions ...string) []string {
	var grants []string
	for _, a := range actions {
		grants = append(grants, "dynamodb:"+a+" on Table if "+partitions)
	}
	return grants
}

// The grants that each word of the table of endpoints stands for, written out: what is not here, no endpoint may do.
func rowGrants(granted rpc.Grants) []string {
	var grants []string
	switch granted & (rpc.ReadTable | rpc.ReadWebhooks | rpc.ReadMailSecrets | rpc.ReadProviders | rpc.AddTickets) {
	case rpc.ReadTable | rpc.ReadProviders | rpc.AddTickets:
		grants = append(grants, read("A#* PROVIDER#* LIVE#*")...)
		grants = append(grants, grantsOn("TICKET#*", "PutItem")...)
	case rpc.ReadTable | rpc.ReadProviders:
		grants = append(grants, read("A#* PROVIDER#*")...)
	case rpc.ReadTable | rpc.ReadMailSecrets:
		grants = append(grants, read("A#* UNSUBSCRIBE#*")...)
	case rpc.ReadTable:
		grants = append(grants, read("A#*")...)
	case rpc.ReadTable | rpc.ReadWebhooks:
		grants = append(grants, read("A#* HOOK#* DUE#lane#*")...)
	}
	switch granted & (rpc.WriteTable | rpc.WriteWebhooks) {
	case rpc.WriteTable:
		grants = append(grants, write("A#* DUE#*")...)
	case rpc.WriteTable | rpc.WriteWebhooks:
		grants = append(grants, write("A#* DUE#* HOOK#*")...)
	default:
		grants = append(grants, grantsOn("A#*#QUOTA", "UpdateItem")...)
	}
	if granted&rpc.ReadIndexes != 0 {
		for _, index := range []string{"by", "in", "org", "st", "upd"} {
			grants = append(grants, "dynamodb:Query on Table/index/index-"+index)
		}
	}
	if granted&rpc.SendEvents != 0 {
		grants = append(grants, "sqs:SendMessage on Events")
	}
	return grants
}

func TestEndpointRights(t *testing.T) {
	m := production(t)
	roles := m.roles(t)
	for _, e := range api.Endpoints() {
		want := rowGrants(e.Grants)
		slices.Sort(want)
		got, complete := own(m.grants(t, roles["POST "+e.Path]))
		if !complete {
			t.Errorf("%s cannot write its own log", e.Path)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s may (-row +role):\n%s", e.Path, diff)
		}
	}
}

func TestWorkerRights(t *testing.T) {
	m := varied(t)
	roles := m.roles(t)
	configuration := slices.Collect(maps.Keys(m.ofType("AWS::SES::ConfigurationSet")))[0]
	if got, want := len(production(t).roles(t)), len(api.Endpoints())+5; got != want {
		t.Errorf("%d functions, want %d", got, want)
	}
	connections := func(method string) string {
		return `execute-api:ManageConnections on {"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":execute-api:",{"Ref":"AWS::Region"},":",` +
			`{"Ref":"AWS::AccountId"},":",{"Ref":"Live"},"/prod/` + method + `/@connections/*"]]}`
	}
	const mail = `{"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":ses:",{"Ref":"AWS::Region"},":",{"Ref":"AWS::AccountId"},":`
	for function, want := range map[string][]string{
		"Checks the credentials of a request": {"dynamodb:GetItem on Table if KEY#* ACCOUNT#*"},
		"Takes events and webhook deliveries from their queues": slices.Concat(
			read("A#* DUE#* HOOK#* ACCOUNT#* PROVIDER#* UNSUBSCRIBE#* LIVE#* CONNECTION#* TICKET#*"),
			change("A#* DUE#* HOOK#* UNSUBSCRIBE#* LIVE#* CONNECTION#* TICKET#*"), []string{
				"ses:SendEmail on " + mail + `configuration-set/",{"Ref":"` + configuration + `"}]]} if no-reply@example.com`,
				"ses:SendEmail on " + mail + `identity/*"]]} if no-reply@example.com`,
				"sqs:ChangeMessageVisibility on Events", "sqs:ChangeMessageVisibility on Webhooks",
				"sqs:DeleteMessage on Events", "sqs:DeleteMessage on Webhooks",
				"sqs:GetQueueAttributes on Events", "sqs:GetQueueAttributes on Webhooks",
				"sqs:ReceiveMessage on Events", "sqs:ReceiveMessage on Webhooks",
				"sqs:SendMessage on Events", "sqs:SendMessage on Webhooks",
			}),
		"Takes the connections of pages and their messages": slices.Concat(
			read("A#* LIVE#* CONNECTION#* ACCOUNT#* PROVIDER#*"), change("LIVE#* CONNECTION#*"), grantsOn("TICKET#*", "DeleteItem"),
			[]string{connections("POST"), connections("DELETE")},
		),
		"Tells pages of what was written": slices.Concat(read("LIVE#* CONNECTION#*"), grantsOn("LIVE#* CONNECTION#*", "DeleteItem", "UpdateItem"), []string{
			connections("POST"),
			`dynamodb:DescribeStream on {"Fn::GetAtt":["TableCD117FA1","StreamArn"]}`,
			`dynamodb:GetRecords on {"Fn::GetAtt":["TableCD117FA1","StreamArn"]}`,
			`dynamodb:GetShardIterator on {"Fn::GetAtt":["TableCD117FA1","StreamArn"]}`,
			`dynamodb:ListStreams on "*"`,
		}),
		"Sends pending work to the queues again": slices.Concat(change("DUE#*"), []string{
			"dynamodb:GetItem on Table if DUE#*", "dynamodb:Query on Table if DUE#*",
			"sqs:GetQueueAttributes on Events", "sqs:GetQueueAttributes on Webhooks",
			"sqs:SendMessage on Events", "sqs:SendMessage on Webhooks",
		}),
	} {
		slices.Sort(want)
		got, complete := own(m.grants(t, roles[function]))
		if !complete {
			t.Errorf("%q cannot write its own log", function)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q may (-want +role):\n%s", function, diff)
		}
	}
}

// Secrets are read by webhooks/*, the page to unsubscribe, the operations that ask who may see what, and deliver alone, each by those that need
// them, and what the operator sets is written by nobody.
func TestSecretsAndSettingsAreApart(t *testing.T) {
	liveFunctions := []string{"Takes the connections of pages and their messages", "Tells pages of what was written"}
	m := production(t)
	asksProviders := []string{
		"POST /v2/commentannotations/get", "POST /v2/commentannotations/comments/get", "POST /v2/commentannotations/count/get",
		"POST /v2/notifications/get", "POST /v2/live/tickets/add",
		"POST /v2/notifications/update", // verifyUserPermissions, as those that follow
		"POST /v2/commentannotations/add", "POST /v2/commentannotations/update",
		"POST /v2/commentannotations/comments/add", "POST /v2/commentannotations/comments/update",
	}
	asksProviders = append(asksProviders, liveFunctions[0])
	for function, role := range m.roles(t) {
		for _, grant := range m.grants(t, role) {
			operation, partitions, _ := strings.Cut(grant, " if ")
			reads := strings.HasPrefix(operation, "dynamodb:Get") || strings.HasPrefix(operation, "dynamodb:BatchGet") ||
				strings.HasPrefix(operation, "dynamodb:Query")
			for partition := range strings.FieldsSeq(partitions) {
				deliver, webhooks := strings.HasPrefix(function, "Takes events"), strings.HasPrefix(function, "POST /v2/webhooks/")
				switch partition {
				case "HOOK#*":
					if !deliver && !webhooks {
						t.Errorf("%s may %s of webhook endpoints", function, operation)
					}
				case "UNSUBSCRIBE#*":
					if page := function == "POST "+unsubscribe.Path; !deliver && !(page && reads) {
						t.Errorf("%s may %s of what signs tokens to unsubscribe by", function, operation)
					}
				case "PROVIDER#*":
					if asks := deliver || slices.Contains(asksProviders, function); !asks || !reads {
						t.Errorf("%s may %s of permission providers", function, operation)
					}
				case "TICKET#*":
					adds, takes := function == "POST /v2/live/tickets/add", function == liveFunctions[0]
					if !deliver && !(adds && operation == "dynamodb:PutItem on Table") && !(takes && operation == "dynamodb:DeleteItem on Table") {
						t.Errorf("%s may %s of tickets", function, operation)
					}
				case "CONNECTION#*":
					if !deliver && !slices.Contains(liveFunctions, function) {
						t.Errorf("%s may %s of connections", function, operation)
					}
				case "A#*", "A#*#QUOTA", "DUE#*", "DUE#lane#*", "LIVE#*":
				default: // KEY#*, ACCOUNT#*
					if !reads {
						t.Errorf("%s may %s of what the operator sets, %s", function, operation, partition)
					}
				}
			}
		}
	}
}

// No role may do all of a kind of actions, and none is open to another service than its own.
func TestRolesAreNarrow(t *testing.T) {
	m := production(t)
	for id, role := range m.ofType("AWS::IAM::Role") {
		text, err := json.Marshal(role.Properties["Policies"])
		must.Do(t, err)
		for _, wild := range regexp.MustCompile(`"\w+:[^"]*\*"`).FindAllString(string(text), -1) {
			t.Errorf("%s may do %s", id, wild)
		}
		trust, err := json.Marshal(role.Properties["AssumeRolePolicyDocument"])
		must.Do(t, err)
		if !regexp.MustCompile(`"Principal":\{"Service":"(lambda|apigateway)\.amazonaws\.com"\}`).Match(trust) {
			t.Errorf("%s trusts %s", id, trust)
		}
	}
	if got := len(m.ofType("AWS::IAM::Policy")) + len(m.ofType("AWS::IAM::ManagedPolicy")); got != 0 {
		t.Errorf("%d policies that are not inline in a role", got)
	}
	for _, p := range m.ofType("AWS::Lambda::Permission") {
		if p.Properties["Principal"] != "events.amazonaws.com" || p.Properties["SourceArn"] == nil {
			t.Errorf("a function is open to %v", p.Properties)
		}
	}
}
