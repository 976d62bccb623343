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

// Create makes the queues that package keys defines, each with its dead-letter queue, and returns their URLs by the names they have
// there. The queues' own names begin with the prefix. A queue that is there already keeps its messages and gets the attributes. On AWS
// the CDK app makes the queues.
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

// create makes a queue, or finds the one of that name, and sets its attributes.
func create(ctx context.Context, client *sqs.Client, name string, attributes map[string]string) (url string, err error) {
	made, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		return "", fmt.Errorf("queue %s: %w", name, err)
	}
	_, err = client.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: made.QueueUrl, Attributes: attributes})
	if err != nil {
		return "", fmt.Errorf("queue %s: %w", name, err)
	}
	return aws.ToString(made.QueueUrl), nil
}
