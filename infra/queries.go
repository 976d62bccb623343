package main

import (
	"fmt"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"
)

// queriedLogs is the maximum number of logs in a query of Logs Insights.
const queriedLogs = 50

// addQueries adds Logs Insights queries that find sources of load and failures. LocalStack does not
// support them.
func (s *service) addQueries() {
	if s.settings.Local() {
		return
	}
	s.addQuery("paths by time", `fields status >= 500 as isFailed, status = 429 as isRefused
| stats sum(integrationLatency) / 1000 as functionSeconds, count(*) as requests, sum(isFailed) as failed, sum(isRefused) as refused,
    sum(requestLength + responseLength) / 1000000 as MB by resource
| sort functionSeconds desc
| limit 20`, s.access)
	part := 0
	for logs := range slices.Chunk(s.logs, queriedLogs) {
		part++
		s.addQuery(fmt.Sprintf("accounts by units of the table, part %d", part), `filter msg = "request"
| stats sum(write_units) as writeUnits, sum(read_units) as readUnits, sum(ms) / 1000 as seconds, count(*) as requests by account, organization, path
| sort writeUnits desc
| limit 50`, logs...)
		s.addQuery(fmt.Sprintf("failures, part %d", part), `filter level = "ERROR"
| fields @timestamp, requestId, code, path, account, organization, status, cause, @message
| sort @timestamp desc
| limit 100`, logs...)
	}
}

func (s *service) addQuery(name, query string, logs ...awslogs.LogGroup) {
	names := make([]any, len(logs))
	for i, l := range logs {
		names[i] = l.LogGroupName()
	}
	awslogs.NewCfnQueryDefinition(s.stack, jsii.String("Query "+name), &awslogs.CfnQueryDefinitionProps{
		Name:          jsii.String(*s.stack.StackName() + "/" + name),
		QueryString:   &query,
		LogGroupNames: &names,
	})
}
