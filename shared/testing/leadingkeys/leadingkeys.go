// Package leadingkeys extracts from a DynamoDB call the keys that IAM checks in the condition
// dynamodb:LeadingKeys. No emulator checks them.
package leadingkeys

import (
	"encoding/json"
	"fmt"
	"regexp"

	"collabdata/shared/keys"
)

// item is the partition key of an item or key.
type item map[string]struct{ S string }

// Of returns the partition keys of an operation, by IAM action. Queries of indexes have none,
// because rights to the index allow them.
func Of(operation string, body []byte) (map[string][]string, error) {
	type single struct{ Key, Item item }
	var request struct {
		single
		IndexName                 *string
		KeyConditionExpression    string
		ExpressionAttributeNames  map[string]string
		ExpressionAttributeValues item
		RequestItems              map[string]json.RawMessage
		TransactItems             []struct{ Put, Update, Delete, ConditionCheck *single }
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	itemKeys := map[string][]string{}
	use := func(action string, s single) {
		itemKeys["dynamodb:"+action] = append(itemKeys["dynamodb:"+action], s.Key[keys.PK].S+s.Item[keys.PK].S)
	}
	switch operation {
	case "GetItem", "PutItem", "UpdateItem", "DeleteItem":
		use(operation, request.single)
	case "Query":
		if request.IndexName != nil {
			return nil, nil
		}
		for name, value := range equalities(request.KeyConditionExpression) {
			if attribute, ok := request.ExpressionAttributeNames[name]; ok {
				name = attribute
			}
			if name == keys.PK {
				use(operation, single{Key: item{keys.PK: request.ExpressionAttributeValues[value]}})
			}
		}
	case "BatchGetItem":
		for _, text := range request.RequestItems {
			var gets struct{ Keys []item }
			if err := json.Unmarshal(text, &gets); err != nil {
				return nil, err
			}
			for _, k := range gets.Keys {
				use(operation, single{Key: k})
			}
		}
	case "BatchWriteItem":
		for _, text := range request.RequestItems {
			var writes []struct{ PutRequest, DeleteRequest single }
			if err := json.Unmarshal(text, &writes); err != nil {
				return nil, err
			}
			for _, w := range writes {
				use(operation, single{Key: w.DeleteRequest.Key, Item: w.PutRequest.Item})
			}
		}
	case "TransactWriteItems":
		for _, w := range request.TransactItems {
			for action, s := range map[string]*single{
				"PutItem": w.Put, "UpdateItem": w.Update, "DeleteItem": w.Delete, "ConditionCheckItem": w.ConditionCheck,
			} {
				if s != nil {
					use(action, *s)
				}
			}
		}
		// Each action gets all partitions of a transaction, which satisfies IAM in any case.
		var all []string
		for _, partitions := range itemKeys {
			all = append(all, partitions...)
		}
		for action := range itemKeys {
			itemKeys[action] = all
		}
	}
	if len(itemKeys) == 0 {
		return nil, fmt.Errorf("no partition keys in %.200s", body)
	}
	return itemKeys, nil
}

// equalities returns the operands of the terms `name = :value` of a key condition.
func equalities(expression string) map[string]string {
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`([#\w]+)\s*=\s*(:\w+)`).FindAllStringSubmatch(expression, -1) {
		found[m[1]] = m[2]
	}
	return found
}
