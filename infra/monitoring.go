package main

import (
	"slices"

	"collabdata/shared/keys"
	"collabdata/shared/metrics"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsbudgets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
	"github.com/aws/jsii-runtime-go"
)

// alarm is an alarm. README.md has a runbook for each.
type alarm struct {
	name      string
	does      string
	metric    awscloudwatch.IMetric
	threshold float64 // alarms at this value
	periods   float64 // evaluated
	breaching float64 // periods that must breach
	missing   awscloudwatch.TreatMissingData
}

func (s *service) addMonitoring(gateway awsapigateway.RestApiBase, deliver awslambda.Function, functions map[string]awslambda.Function) {
	if s.settings.Alarms {
		s.addAlarms(gateway)
	}
	if s.settings.Dashboard {
		s.addDashboard(gateway, deliver, functions)
	}
	if s.settings.MonthlyBudget > 0 {
		s.addBudget()
	}
}

// addBudget emails alarmMail if the AWS account has spent 80 % or all of the month's budget, or is
// expected to exceed it. It counts the whole account, because AWS counts costs by tags only after
// someone activates them.
func (s *service) addBudget() {
	var notifications []*awsbudgets.CfnBudget_NotificationWithSubscribersProperty
	for _, n := range []struct {
		kind    string
		percent int
	}{{"ACTUAL", 80}, {"ACTUAL", 100}, {"FORECASTED", 100}} {
		notifications = append(notifications, &awsbudgets.CfnBudget_NotificationWithSubscribersProperty{
			Notification: &awsbudgets.CfnBudget_NotificationProperty{
				NotificationType: &n.kind, ComparisonOperator: jsii.String("GREATER_THAN"), Threshold: jsii.Number(n.percent),
				ThresholdType: jsii.String("PERCENTAGE"),
			},
			Subscribers: &[]*awsbudgets.CfnBudget_SubscriberProperty{{SubscriptionType: jsii.String("EMAIL"), Address: &s.settings.AlarmMail}},
		})
	}
	awsbudgets.NewCfnBudget(s.stack, jsii.String("Budget"), &awsbudgets.CfnBudgetProps{
		Budget: &awsbudgets.CfnBudget_BudgetDataProperty{
			BudgetName: s.stack.StackName(), BudgetType: jsii.String("COST"), TimeUnit: jsii.String("MONTHLY"),
			BudgetLimit: &awsbudgets.CfnBudget_SpendProperty{Amount: jsii.Number(s.settings.MonthlyBudget), Unit: jsii.String("USD")},
		},
		NotificationsWithSubscribers: &notifications,
	})
}

// addAlarms adds the alarms and their topic. The topic is not encrypted unless kmsKey is set: its
// messages only contain names and numbers of metrics.
func (s *service) addAlarms(gateway awsapigateway.RestApiBase) {
	topic := awssns.NewTopic(s.stack, jsii.String("Alarms"), &awssns.TopicProps{EnforceSSL: jsii.Bool(true), MasterKey: s.key})
	// If a topic has a policy, such as one against plain HTTP, an AWS service needs an explicit
	// permission.
	topic.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Principals: &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(jsii.String("cloudwatch.amazonaws.com"), nil)},
		Actions:    jsii.Strings("sns:Publish"),
		Resources:  &[]*string{topic.TopicArn()},
		Conditions: &map[string]any{"ArnLike": map[string]any{"aws:SourceArn": s.stack.FormatArn(&awscdk.ArnComponents{
			Service: jsii.String("cloudwatch"), Resource: jsii.String("alarm"), ResourceName: s.alarmName("*"),
			ArnFormat: awscdk.ArnFormat_COLON_RESOURCE_NAME,
		})}},
	}))
	if s.settings.AlarmMail != "" {
		topic.AddSubscription(awssnssubscriptions.NewEmailSubscription(&s.settings.AlarmMail, nil))
	}
	s.output("AlarmTopicArn", "Topic for alarms", topic.TopicArn())
	action := awscloudwatchactions.NewSnsAction(topic)
	for _, a := range s.alarms(gateway) {
		alarm := awscloudwatch.NewAlarm(s.stack, jsii.String("Alarm"+a.name), &awscloudwatch.AlarmProps{
			AlarmName:          s.alarmName(a.name),
			AlarmDescription:   jsii.String(a.does),
			Metric:             a.metric,
			Threshold:          jsii.Number(a.threshold),
			ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
			EvaluationPeriods:  jsii.Number(a.periods),
			DatapointsToAlarm:  jsii.Number(a.breaching),
			TreatMissingData:   a.missing,
		})
		alarm.AddAlarmAction(action)
		alarm.AddOkAction(action)
	}
}

func (s *service) alarmName(name string) *string {
	return jsii.String(*s.stack.StackName() + "-" + name)
}

func (s *service) alarms(gateway awsapigateway.RestApiBase) []alarm {
	const quiet, broken = awscloudwatch.TreatMissingData_NOT_BREACHING, awscloudwatch.TreatMissingData_BREACHING
	every := func(minutes float64, statistic string) *awscloudwatch.MetricOptions {
		return &awscloudwatch.MetricOptions{Period: awscdk.Duration_Minutes(&minutes), Statistic: &statistic}
	}
	alarms := []alarm{
		{"EventsDead", "Messages about events or jobs are in the dead-letter queue: deliver could not read or store their tasks five times",
			s.events.dead.MetricApproximateNumberOfMessagesVisible(every(1, "Maximum")), 1, 1, 1, quiet},
		{"CallsDead", "Messages about emails or webhook endpoints are in the dead-letter queue: deliver could not read or store their tasks five times",
			s.calls.dead.MetricApproximateNumberOfMessagesVisible(every(1, "Maximum")), 1, 1, 1, quiet},
		{"EventsLate", "An event has waited ten minutes for deliver",
			s.events.live.MetricApproximateAgeOfOldestMessage(every(1, "Maximum")), 600, 3, 3, quiet},
		{"CallsLate", "An email or a webhook endpoint with deliveries has waited ten minutes for deliver",
			s.calls.live.MetricApproximateAgeOfOldestMessage(every(1, "Maximum")), 600, 3, 3, quiet},
		{"TasksFailed", "An event, an email, a webhook endpoint or a job has failed for hours: see admin pending get --kind failed",
			s.metric(metrics.TasksFailed, "Sum", "", 5), 1, 1, 1, quiet},
		{"MailsHeld", "Emails wait, because a quota of their account or of SES is used up: see the log of deliver",
			s.metric(metrics.MailsHeld, "Sum", "", 5), 1, 1, 1, quiet},
		{"TasksLate", "A task has been due for fifteen minutes, or relay does not report",
			s.metric(metrics.TaskAge, "Maximum", "", 5), 900, 3, 3, broken},
		{"Errors", "At least 1 % of requests fail with 5xx",
			gateway.MetricServerError(every(5, "Average")), 0.01, 3, 2, quiet},
		{"Slow", "At least 1 % of requests take three seconds or more",
			gateway.MetricLatency(every(5, "p99")), 3000, 3, 3, quiet},
		{"FunctionThrottles", "The AWS account's limit on concurrent functions is reached in this region",
			awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
				Namespace: jsii.String("AWS/Lambda"), MetricName: jsii.String("Throttles"),
				Statistic: jsii.String("Sum"), Period: awscdk.Duration_Minutes(jsii.Number(1)),
			}), 1, 5, 3, quiet},
		{"ReadThrottles", "The table refuses reads", s.tableMetric("ReadThrottleEvents", ""), 1, 5, 3, quiet},
		{"WriteThrottles", "The table refuses writes", s.tableMetric("WriteThrottleEvents", ""), 1, 5, 3, quiet},
		// This index reaches its limit first, because it holds an organization in one partition.
		{"OrganizationThrottles", "An organization exceeds the write capacity of its partition of the index by lastUpdated",
			s.tableMetric("WriteThrottleEvents", keys.IndexOrg), 1, 5, 3, quiet},
	}
	if s.settings.Firewall && s.settings.WebACL == "" {
		alarms = append(alarms, alarm{"RequestsBlocked", "The firewall refuses a thousand requests in five minutes",
			awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
				Namespace: jsii.String("AWS/WAFV2"), MetricName: jsii.String("BlockedRequests"), Statistic: jsii.String("Sum"),
				Period:        awscdk.Duration_Minutes(jsii.Number(5)),
				DimensionsMap: &map[string]*string{"WebACL": s.stack.StackName(), "Region": s.stack.Region(), "Rule": jsii.String("ALL")},
			}), 1000, 3, 2, quiet})
	}
	if s.hints != nil {
		refused := awslogs.NewMetricFilter(s.stack, jsii.String("ConnectionsRefused"), &awslogs.MetricFilterProps{
			LogGroup: s.connects, FilterPattern: awslogs.FilterPattern_Literal(jsii.String(`{ $.event = "CONNECT" && ($.status = "4*" || $.status = "5*") }`)),
			MetricNamespace: jsii.String(metrics.Namespace), MetricName: jsii.String("ConnectionsRefused"), MetricValue: jsii.String("1"),
			Dimensions: &map[string]*string{"Stage": jsii.String("$.stage")},
		})
		alarms = append(alarms,
			alarm{"ConnectionsRefused", "A thousand connections of pages are refused in five minutes",
				refused.Metric(&awscloudwatch.MetricOptions{
					Statistic: jsii.String("Sum"), Period: awscdk.Duration_Minutes(jsii.Number(5)),
					DimensionsMap: &map[string]*string{"Stage": &s.settings.Stage},
				}), 1000, 3, 2, quiet},
			alarm{"HintsLate", "Hints about changes are ten seconds late or do not arrive",
				s.metric(metrics.HintsAge, "Maximum", "", 1), 10, 5, 3, broken},
			alarm{"HintsFailing", "Pages get no hints, because function hints fails", s.hints.MetricErrors(every(1, "Sum")), 1, 5, 3, quiet},
		)
	}
	if s.settings.MailFrom != "" {
		alarms = append(alarms,
			alarm{"MailsBounce", "3 % of this AWS account's emails bounce: SES reviews the account at 5 %, and may stop sending at 10 %",
				reputation("BounceRate"), 0.03, 1, 1, quiet},
			alarm{"MailsComplained", "0.05 % of this AWS account's recipients complain: SES reviews the account at 0.1 %",
				reputation("ComplaintRate"), 0.0005, 1, 1, quiet},
		)
	}
	return alarms
}

// reputation returns the SES reputation of the AWS account's emails in this region, for all stages.
func reputation(name string) awscloudwatch.IMetric {
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		Namespace: jsii.String("AWS/SES"), MetricName: jsii.String("Reputation." + name), Statistic: jsii.String("Average"),
		Period: awscdk.Duration_Hours(jsii.Number(1)),
	})
}

// metric returns a metric that the functions report for the stage. An empty channel means all.
func (s *service) metric(name, statistic, channel string, minutes float64) awscloudwatch.Metric {
	dimensions := map[string]*string{"Stage": jsii.String(s.settings.Stage)}
	props := &awscloudwatch.MetricProps{
		Namespace: jsii.String(metrics.Namespace), MetricName: &name, Statistic: &statistic,
		Period: awscdk.Duration_Minutes(&minutes), DimensionsMap: &dimensions,
	}
	if channel != "" {
		dimensions["Channel"] = &channel
		props.Label = jsii.String(name + " " + channel)
	}
	return awscloudwatch.NewMetric(props)
}

// tableMetric returns a metric of an index, or of the table if index is "".
func (s *service) tableMetric(name, index string) awscloudwatch.Metric {
	dimensions := map[string]*string{"TableName": s.table.TableName()}
	if index != "" {
		dimensions["GlobalSecondaryIndexName"] = &index
	}
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		Namespace: jsii.String("AWS/DynamoDB"), MetricName: &name, Statistic: jsii.String("Sum"),
		Period: awscdk.Duration_Minutes(jsii.Number(1)), DimensionsMap: &dimensions,
	})
}

func (s *service) addDashboard(gateway awsapigateway.RestApiBase, deliver awslambda.Function, functions map[string]awslambda.Function) {
	graph := func(title string, metrics ...awscloudwatch.IMetric) awscloudwatch.IWidget {
		return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{
			Title: &title, Width: jsii.Number(8), Left: &metrics, LeftYAxis: &awscloudwatch.YAxisProps{Min: jsii.Number(0)},
		})
	}
	metricOf := func(statistic, label string) *awscloudwatch.MetricOptions {
		return &awscloudwatch.MetricOptions{Statistic: &statistic, Label: &label}
	}
	var calls, failures []awscloudwatch.IMetric
	paths := make([]string, 0, len(functions))
	for path := range functions {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		calls = append(calls, functions[path].MetricInvocations(metricOf("Sum", path)))
		failures = append(failures, functions[path].MetricErrors(metricOf("Sum", path)))
	}
	sent := []awscloudwatch.IMetric{s.metric(metrics.Events, "Sum", "", 5)}
	var retried []awscloudwatch.IMetric
	for _, figure := range []string{metrics.WebhooksDisabled, metrics.MailsHeld, metrics.TasksFailed, metrics.Unreadable, metrics.Undeliverable, metrics.ReportsDropped} {
		retried = append(retried, s.metric(figure, "Sum", "", 5))
	}
	for _, channel := range []string{metrics.Inbox, metrics.Email, metrics.Webhook} {
		sent = append(sent, s.metric(metrics.Deliveries, "Sum", channel, 5))
		retried = append(retried, s.metric(metrics.DeliveryRetries, "Sum", channel, 5), s.metric(metrics.DeliveryFailures, "Sum", channel, 5))
	}
	throttled := []awscloudwatch.IMetric{s.tableMetric("ReadThrottleEvents", ""), s.tableMetric("WriteThrottleEvents", "")}
	for _, index := range keys.Indexes() {
		throttled = append(throttled, s.tableMetric("ReadThrottleEvents", index.Name), s.tableMetric("WriteThrottleEvents", index.Name))
	}
	rows := [][]awscloudwatch.IWidget{
		{
			graph(
				"Requests", gateway.MetricCount(metricOf("Sum", "all")), gateway.MetricClientError(metricOf("Sum", "4xx")),
				gateway.MetricServerError(metricOf("Sum", "5xx")),
			),
			graph("Milliseconds", gateway.MetricLatency(metricOf("p50", "p50")), gateway.MetricLatency(metricOf("p99", "p99"))),
			graph("Calls by endpoint", calls...),
		}, {
			graph("Crashes and timeouts by endpoint", failures...),
			graph("Events and deliveries", sent...),
			graph("Retried and failed deliveries; disabled endpoints, held emails, skipped items, addresses without email", retried...),
		}, {
			graph("Waiting in queues", s.events.live.MetricApproximateNumberOfMessagesVisible(metricOf("Maximum", "events")),
				s.calls.live.MetricApproximateNumberOfMessagesVisible(metricOf("Maximum", "calls")),
				s.events.dead.MetricApproximateNumberOfMessagesVisible(metricOf("Maximum", "events, dead")),
				s.calls.dead.MetricApproximateNumberOfMessagesVisible(metricOf("Maximum", "calls, dead"))),
			graph("Seconds waited", s.events.live.MetricApproximateAgeOfOldestMessage(metricOf("Maximum", "events")),
				s.calls.live.MetricApproximateAgeOfOldestMessage(metricOf("Maximum", "calls")), s.metric(metrics.TaskAge, "Maximum", "", 5)),
			graph(
				"Deliver", deliver.MetricInvocations(metricOf("Sum", "runs")), deliver.MetricErrors(metricOf("Sum", "crashes")),
				deliver.MetricThrottles(metricOf("Sum", "throttled")),
			),
		}, {
			graph("Capacity of the table", s.tableMetric("ConsumedReadCapacityUnits", ""), s.tableMetric("ConsumedWriteCapacityUnits", "")),
			graph("Throttled by the table", throttled...),
		},
	}
	if s.hints != nil {
		last := &rows[len(rows)-1]
		*last = append(*last, graph("Hints to pages", s.hints.MetricInvocations(metricOf("Sum", "runs")), s.hints.MetricErrors(metricOf("Sum", "crashes")),
			s.hints.Metric(jsii.String("IteratorAge"), metricOf("Maximum", "milliseconds late"))))
	}
	dashboard := awscloudwatch.NewDashboard(
		s.stack, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{DashboardName: s.stack.StackName()},
	)
	for _, row := range rows {
		dashboard.AddWidgets(row...)
	}
}
