package main

import (
	"maps"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/mail/unsubscribe"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsses"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
)

// queue is a queue with its dead-letter queue.
type queue struct{ live, dead awssqs.Queue }

// keyReuse is the number of seconds that SQS reuses a data key. Each function that sends asks for
// its own.
const keyReuse = 3600

func (s *service) addQueues() {
	for _, q := range keys.Queues() {
		seconds := func(n int) awscdk.Duration { return awscdk.Duration_Seconds(jsii.Number(n)) }
		name := strings.ToUpper(q.Name[:1]) + q.Name[1:]
		encryption, reuse := awssqs.QueueEncryption_SQS_MANAGED, awscdk.Duration(nil)
		if s.key != nil {
			encryption, reuse = awssqs.QueueEncryption_KMS, seconds(keyReuse)
		}
		dead := awssqs.NewQueue(s.stack, jsii.String(name+"Dead"), &awssqs.QueueProps{
			Encryption: encryption, EncryptionMasterKey: s.key, DataKeyReuse: reuse,
			EnforceSSL:      jsii.Bool(true),
			RetentionPeriod: seconds(q.DeadRetention),
		})
		pair := queue{dead: dead, live: awssqs.NewQueue(s.stack, jsii.String(name), &awssqs.QueueProps{
			Encryption: encryption, EncryptionMasterKey: s.key, DataKeyReuse: reuse,
			EnforceSSL:        jsii.Bool(true),
			VisibilityTimeout: seconds(q.VisibilityTimeout),
			RetentionPeriod:   seconds(q.Retention),
			DeadLetterQueue:   &awssqs.DeadLetterQueue{Queue: dead, MaxReceiveCount: jsii.Number(q.MaxReceives)},
		})}
		switch q.Name {
		case keys.EventsQueue:
			s.events = pair
			s.output("EventsQueueUrl", "Queue "+q.Name, pair.live.QueueUrl())
		case keys.CallsQueue:
			s.calls = pair
		}
		s.output(name+"DeadQueueUrl", "Dead letters of queue "+q.Name, dead.QueueUrl())
	}
}

// addDelivery adds deliver, which handles both queues, and relay, which resends lost messages. It
// returns deliver.
func (s *service) addDelivery() awslambda.Function {
	mail, mayMail := s.addMail()
	environment := map[string]*string{"CALLS_QUEUE_URL": s.calls.live.QueueUrl()}
	maps.Copy(environment, mail)
	deliver := s.addFunction(function{
		name: "deliver", does: "Runs the tasks that messages name: events, emails, webhook deliveries, jobs", timeout: 90, memoryMB: 512,
		// deliver sends itself messages for the next step of a task
		loops: true,
		rights: append([]awsiam.PolicyStatement{
			s.allowItems(
				readItems, dataItems, webhookItems, accountItems, providerItems, mailSecrets, liveItems, connections, tickets,
			),
			s.allowItems(changeItems, dataItems, webhookItems, mailSecrets, liveItems, connections, tickets),
			allowReceive(s.events), allowReceive(s.calls), allowSend(s.events), allowSend(s.calls),
		}, mayMail...),
		environment: environment,
	})
	for _, source := range []struct {
		queue awssqs.Queue
		runs  int     // concurrent runs of deliver at the usual concurrency: see Settings.share
		batch float64 // messages in a run
	}{
		// One message per run: a crash would delay the other messages of a batch by nine minutes.
		// It costs about $0.80 more per million events.
		{s.events.live, 200, 1},
		// Ten tasks share a run, because each mostly waits for an endpoint or SES. The number of runs
		// limits the cost of slow ones. It exceeds the endpoints of one account, so that no account can
		// occupy all runs.
		{s.calls.live, 2 * collab.MaxWebhooks, 10},
	} {
		deliver.AddEventSource(awslambdaeventsources.NewSqsEventSource(source.queue, &awslambdaeventsources.SqsEventSourceProps{
			BatchSize:               jsii.Number(source.batch),
			MaxConcurrency:          jsii.Number(s.settings.share(source.runs)),
			ReportBatchItemFailures: jsii.Bool(true),
			Enabled:                 jsii.Bool(s.settings.Writes),
		}))
	}

	relay := s.addFunction(function{
		name: "relay", does: "Sends messages about tasks that are due", timeout: 55, memoryMB: 256,
		environment: map[string]*string{"CALLS_QUEUE_URL": s.calls.live.QueueUrl()},
		rights: []awsiam.PolicyStatement{
			allow([]string{"dynamodb:Query"}, s.indexARN(keys.IndexDue)),
			s.allowItems([]string{"dynamodb:UpdateItem"}, taskItems),
			s.allowItems([]string{"dynamodb:PutItem"}, keys.HeartbeatKey().PK),
			allowSend(s.events), allowSend(s.calls),
			allow([]string{"sqs:GetQueueAttributes"}, *s.events.live.QueueArn(), *s.calls.live.QueueArn()),
		},
	})
	// If a run cannot start within its minute, the next run does its work.
	relay.ConfigureAsyncInvoke(&awslambda.EventInvokeConfigOptions{
		MaxEventAge: awscdk.Duration_Minutes(jsii.Number(1)), RetryAttempts: jsii.Number(0),
	})
	awsevents.NewRule(s.stack, jsii.String("EveryMinute"), &awsevents.RuleProps{
		Description: jsii.String("Starts relay"),
		Schedule:    awsevents.Schedule_Rate(awscdk.Duration_Minutes(jsii.Number(1))),
		Enabled:     jsii.Bool(s.settings.Writes),
		Targets: &[]awsevents.IRuleTarget{awseventstargets.NewLambdaFunction(relay, &awseventstargets.LambdaFunctionProps{
			MaxEventAge: awscdk.Duration_Minutes(jsii.Number(1)), RetryAttempts: jsii.Number(0),
		})},
	})
	if s.settings.MailFrom != "" {
		suppress(deliver.Node().Scope().Node().FindChild(jsii.String("Role")), "AwsSolutions-IAM5",
			"In its sandbox, SES requires rights to recipients' identities; a condition limits the sender.",
			"Resource::arn:<AWS::Partition>:ses:<AWS::Region>:<AWS::AccountId>:identity/*")
	}
	return deliver
}

func allowSend(q queue) awsiam.PolicyStatement {
	return allow([]string{"sqs:SendMessage"}, *q.live.QueueArn())
}

func allowReceive(q queue) awsiam.PolicyStatement {
	return allow(
		[]string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"}, *q.live.QueueArn(),
	)
}

// addMail adds the SES identity of the sender's domain if needed, and the resources to send emails.
// It returns the variables that describe them, and the right to send as the sender.
func (s *service) addMail() (map[string]*string, []awsiam.PolicyStatement) {
	if s.settings.MailFrom == "" {
		return nil, nil
	}
	_, domain, _ := strings.Cut(s.settings.MailFrom, "@")
	if s.settings.MailIdentity == "create" {
		identity := awsses.NewEmailIdentity(
			s.stack, jsii.String("MailIdentity"), &awsses.EmailIdentityProps{Identity: awsses.Identity_Domain(&domain)},
		)
		for i, record := range *identity.DkimRecords() {
			s.output("DkimRecord"+string(rune('1'+i)), "CNAME record that proves the sender's domain to SES",
				jsii.String(*record.Name+" CNAME "+*record.Value))
		}
	}
	configuration := s.addMailConfiguration()
	arn := func(resource, name string) string {
		return *s.stack.FormatArn(&awscdk.ArnComponents{Service: jsii.String("ses"), Resource: &resource, ResourceName: &name})
	}
	// In its sandbox, SES also requires the right to the recipient's identity, so the condition is
	// on the sender.
	maySend := awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions:    jsii.Strings("ses:SendEmail"),
		Resources:  jsii.Strings(arn("identity", "*"), arn("configuration-set", *configuration)),
		Conditions: &map[string]any{"StringEquals": map[string]any{"ses:FromAddress": s.settings.MailFrom}},
	})
	return map[string]*string{
		"MAIL_FROM":              &s.settings.MailFrom,
		"MAIL_FROM_NAME":         &s.settings.MailFromName,
		"MAIL_PRODUCT":           &s.settings.MailProduct,
		"MAIL_LINK":              &s.settings.MailLink,
		"MAIL_UNSUBSCRIBE":       awscdk.Fn_Join(jsii.String(""), jsii.Strings(*s.url, unsubscribe.Path)),
		"MAIL_CONFIGURATION_SET": configuration,
	}, []awsiam.PolicyStatement{maySend}
}

// addMailConfiguration adds the configuration set for emails and returns its name. With it, SES
// suppresses addresses that bounced or complained, counts both per stage, and sends them as events
// to deliver. SES has no queues as destinations, so a rule of the default bus passes them on.
func (s *service) addMailConfiguration() *string {
	set := awsses.NewConfigurationSet(s.stack, jsii.String("Mails"), &awsses.ConfigurationSetProps{
		SuppressionReasons: awsses.SuppressionReasons_BOUNCES_AND_COMPLAINTS,
		ReputationMetrics:  jsii.Bool(true),
	})
	bus := awsevents.EventBus_FromEventBusName(s.stack, jsii.String("DefaultBus"), jsii.String("default"))
	set.AddEventDestination(jsii.String("Reports"), &awsses.ConfigurationSetEventDestinationOptions{
		Destination: awsses.EventDestination_EventBus(bus),
		Events:      &[]awsses.EmailSendingEvent{awsses.EmailSendingEvent_BOUNCE, awsses.EmailSendingEvent_COMPLAINT},
	})
	awsevents.NewRule(s.stack, jsii.String("MailReports"), &awsevents.RuleProps{
		Description: jsii.String("Sends bounces of and complaints about emails to deliver"),
		EventPattern: &awsevents.EventPattern{
			Source: jsii.Strings("aws.ses"),
			Detail: &map[string]any{
				"eventType": []string{"Bounce", "Complaint"},
				"mail":      map[string]any{"tags": map[string]any{"ses:configuration-set": []*string{set.ConfigurationSetName()}}},
			},
		},
		Targets: &[]awsevents.IRuleTarget{awseventstargets.NewSqsQueue(s.events.live, &awseventstargets.SqsQueueProps{
			Message: awsevents.RuleTargetInput_FromEventPath(jsii.String("$.detail")),
		})},
	})
	return set.ConfigurationSetName()
}
