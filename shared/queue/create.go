package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"collabdata/shared/keys"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Create creates the queues of package keys with their dead-letter queues, and returns their URLs
// by name. The queues' names begin with prefix. An existing queue keeps its messages and gets the
// attributes. On AWS the CDK app creates the queues.
func Create(ctx context.Context, cfg aws.Config, prefix string) (map[string]string, error) {
	client := sqs.NewFromConfig(cfg)
	urls := make(map[string]string)
	for _, q := range keys.Queues() {
		dead, err := create(ctx, client, prefix+q.Name+"-dead", map[string]string{
			string(types.QueueAttributeNameMessageRetentionPeriod): strconv.Itoa(q.DeadRetention),
		})
		if err != nil {
			return nil, err
		}
		const arn = types.QueueAttributeNameQueueArn
		out, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &dead, AttributeNames: []types.QueueAttributeName{arn}})
		if err != nil {
			return nil, err
		}
		redrive, err := json.Marshal(map[string]string{
			"deadLetterTargetArn": out.Attributes[string(arn)], "maxReceiveCount": strconv.Itoa(q.MaxReceives),
		})
		if err != nil {
			return nil, err
		}
		urls[q.Name], err = create(ctx, client, prefix+q.Name, map[string]string{
			string(types.QueueAttributeNameVisibilityTimeout):      strconv.Itoa(q.VisibilityTimeout),
			string(types.QueueAttributeNameMessageRetentionPeriod): strconv.Itoa(q.Retention),
			string(types.QueueAttributeNameRedrivePolicy):          string(redrive),
		})
		if err != nil {
			return nil, err
		}
	}
	return urls, nil
}

func create(ctx context.Context, client *sqs.Client, name string, attributes map[string]string) (url string, err error) {
	created, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		return "", fmt.Errorf("queue %s: %w", name, err)
	}
	_, err = client.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: created.QueueUrl, Attributes: attributes})
	if err != nil {
		return "", fmt.Errorf("queue %s: %w", name, err)
	}
	return aws.ToString(created.QueueUrl), nil
}
