package main

import (
	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/keys"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"
)

func (s *service) addTable() {
	text := func(name string) *awsdynamodb.Attribute {
		return &awsdynamodb.Attribute{Name: jsii.String(name), Type: awsdynamodb.AttributeType_STRING}
	}
	props := &awsdynamodb.TableProps{
		PartitionKey:        text(keys.PK),
		SortKey:             text(keys.SK),
		TimeToLiveAttribute: jsii.String(keys.Expires),
		BillingMode:         awsdynamodb.BillingMode_PAY_PER_REQUEST,
		// AWS owned key, unless kmsKey is set: other keys cost money
		Encryption:                       awsdynamodb.TableEncryption_DEFAULT,
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: jsii.Bool(true)},
		DeletionProtection:               jsii.Bool(!s.settings.Local()),
		RemovalPolicy:                    s.settings.removal(),
		WarmThroughput:                   s.warm(),
		MaxReadRequestUnits:              maximum(s.settings.MaxReadUnits),
		MaxWriteRequestUnits:             maximum(s.settings.MaxWriteUnits),
	}
	if s.key != nil {
		props.Encryption, props.EncryptionKey = awsdynamodb.TableEncryption_CUSTOMER_MANAGED, s.key
	}
	if s.settings.Live {
		props.Stream = awsdynamodb.StreamViewType_KEYS_ONLY
	}
	t := awsdynamodb.NewTable(s.stack, jsii.String("Table"), props)
	for _, index := range keys.Indexes() {
		t.AddGlobalSecondaryIndex(&awsdynamodb.GlobalSecondaryIndexProps{
			IndexName:        jsii.String(index.Name),
			PartitionKey:     text(index.PartitionKey),
			SortKey:          text(index.SortKey),
			ProjectionType:   awsdynamodb.ProjectionType_INCLUDE,
			NonKeyAttributes: jsii.Strings(index.Projected...),
			WarmThroughput:   s.warm(),
			// DynamoDB limits each index separately.
			MaxReadRequestUnits:  maximum(s.settings.MaxReadUnits),
			MaxWriteRequestUnits: maximum(s.settings.MaxWriteUnits),
		})
	}
	s.table = t
	if s.settings.RestoredTable != "" {
		restored := &awsdynamodb.TableAttributes{TableName: jsii.String(s.settings.RestoredTable)}
		if s.settings.RestoredStream != "" {
			restored.TableStreamArn = jsii.String(s.settings.RestoredStream)
		}
		s.table = awsdynamodb.Table_FromTableAttributes(s.stack, jsii.String("RestoredTable"), restored)
	}
	s.output("TableName", "The table that the functions use", s.table.TableName())
}

// warm returns the throughput that a table or an index takes at once; nil for DynamoDB's default.
func (s *service) warm() *awsdynamodb.WarmThroughput {
	if s.settings.WarmThroughput == 0 {
		return nil
	}
	const reads = 12_000 // DynamoDB's default
	return &awsdynamodb.WarmThroughput{ReadUnitsPerSecond: jsii.Number(reads), WriteUnitsPerSecond: jsii.Number(s.settings.WarmThroughput)}
}

// most returns a maximum; nil for none.
func maximum(units int) *float64 {
	if units == 0 {
		return nil
	}
	return jsii.Number(units)
}

// Actions on items. Those of a transaction are allowed for all its partitions, because AWS does not
// document whether it checks each item.
var (
	readItems   = []string{"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"}
	changeItems = []string{"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"}
	writeItems  = append([]string{"dynamodb:ConditionCheckItem", "dynamodb:BatchWriteItem"}, changeItems...)
)

// Patterns of partition keys. Only the operator writes other partitions. No function can read the
// list of accounts.
var (
	dataItems     = keys.Organization("*", "").PK                                  // data of all accounts
	quotaItems    = keys.Quota("*", "").PK                                         // usage of accounts and people; every endpoint writes it
	taskItems     = keys.Task(collab.TaskRef{Kind: "*", Account: "*", ID: "*"}).PK // tasks of all accounts, among their data
	webhookItems  = keys.Webhook("*", "").PK                                       // webhook endpoints with their signing secrets
	accountItems  = keys.Account("*").PK                                           // settings; every endpoint and deliver read them
	providerItems = keys.PermissionProvider("*").PK                                // with secrets, for checks of access
	mailSecrets   = keys.MailSecret("*").PK                                        // secrets that sign unsubscribe tokens
	tickets       = keys.Ticket("*", "").PK                                        // for connections
	connections   = keys.Connection("*").PK                                        // by id
	liveItems     = keys.ConnectionCounts("*")                                     // counts of connections
	apiKeys       = keys.APIKey("*").PK                                            // every endpoint reads them
	auditItems    = keys.Act("*", 0, "").PK                                        // acts, which functions only add
	signingKeys   = keys.SigningKeys("*").PK                                       // of personal tokens; every endpoint reads them
)

// rights converts an endpoint's grants to policy statements. One statement has the partitions of
// all writes, because a transaction can span them.
func (s *service) rights(granted rpc.Grants) []awsiam.PolicyStatement {
	var statements []awsiam.PolicyStatement
	var read, write []string
	if granted&rpc.ReadTable != 0 {
		read = append(read, dataItems)
	}
	if granted&rpc.ReadWebhooks != 0 {
		read = append(read, webhookItems)
	}
	if granted&rpc.ReadMailSecrets != 0 {
		read = append(read, mailSecrets, accountItems)
	}
	if granted&rpc.ReadProviders != 0 {
		read = append(read, providerItems)
	}
	if granted&rpc.AddTickets != 0 {
		read = append(read, liveItems)
		statements = append(statements, s.allowItems([]string{"dynamodb:PutItem"}, tickets))
	}
	if granted&rpc.WriteTable != 0 {
		write = append(write, dataItems)
	}
	if granted&rpc.WriteWebhooks != 0 {
		write = append(write, webhookItems)
	}
	if granted&rpc.WriteAudit != 0 {
		statements = append(statements, s.allowItems([]string{"dynamodb:PutItem"}, auditItems))
	}
	if len(read) > 0 {
		statements = append(statements, s.allowItems(readItems, read...))
	}
	if len(write) == 0 && len(read) > 0 {
		statements = append(statements, s.allowItems([]string{"dynamodb:UpdateItem"}, quotaItems))
	}
	if len(write) > 0 {
		statements = append(statements, s.allowItems(writeItems, write...))
	}
	if granted&rpc.ReadIndexes != 0 {
		var indexes []string
		for _, index := range keys.Indexes() {
			if index.Name != keys.IndexDue { // it has the tasks of all accounts
				indexes = append(indexes, s.indexARN(index.Name))
			}
		}
		statements = append(statements, allow([]string{"dynamodb:Query"}, indexes...))
	}
	if granted&rpc.SendEvents != 0 {
		statements = append(statements, allowSend(s.events))
	}
	return statements
}

func (s *service) indexARN(name string) string { return *s.table.TableArn() + "/index/" + name }

// allowItems allows actions on items with partition keys that match a pattern.
func (s *service) allowItems(actions []string, partitions ...string) awsiam.PolicyStatement {
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions:   jsii.Strings(actions...),
		Resources: jsii.Strings(*s.table.TableArn()),
		Conditions: &map[string]any{
			"ForAllValues:StringLike": map[string]any{"dynamodb:LeadingKeys": partitions},
		},
	})
}
