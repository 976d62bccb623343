package store

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Restored counts the items that RestoreOrganization has put and removed.
type Restored struct{ Put, Removed int }

// RestoreOrganization makes an organization what it is in another table of the service, such as one that was restored from a backup. It
// puts every item that the other table has in the organization's partitions, removes those that the other table does not have, and puts the
// organization's own item last. What lies elsewhere stays as it is: events, deliveries, pending work, and who wants no mails.
//
// It reads both tables to their ends, as nothing lists an organization's partitions, and takes at most as many capacity units in a second,
// of both tables together. Nothing else may write the organization meanwhile. After a failure it may be called again. NOT_FOUND where the
// other table does not have the organization.
func (t *Table) RestoreOrganization(
	ctx context.Context, from *Table, org collab.OrganizationRef, unitsPerSecond float64,
) (Restored, error) {
	var done Restored
	own := keys.Organization(org.Account, org.Organization)
	last, err := from.Get(ctx, own)
	if err == nil && last == nil {
		err = collab.Errorf(collab.NotFound, "organization %q does not exist in table %s", org.Organization, from.name)
	}
	if err != nil {
		return done, err
	}
	usage, paid := new(collab.Usage), 0.0
	ctx = collab.WithUsage(ctx, usage)
	within := func() error { // waits as long as what was used since the last time may take
		read, write, _ := usage.Total()
		timer := time.NewTimer(time.Duration((read + write - paid) / unitsPerSecond * float64(time.Second)))
		defer timer.Stop()
		paid = read + write
		select {
		case <-ctx.Done():
			return Fail(ctx, ctx.Err())
		case <-timer.C:
			return nil
		}
	}
	err = from.scan(ctx, org, func(items []Item) error {
		done.Put += len(items)
		if err := Each(ctx, len(items), func(ctx context.Context, i int) error { return t.Put(ctx, items[i]) }); err != nil {
			return err
		}
		return within()
	})
	if err != nil {
		return done, err
	}
	err = t.scan(ctx, org, func(items []Item) error {
		itemKeys := collab.Map(items, Item.Key)
		kept, err := from.GetAll(ctx, itemKeys, false)
		if err != nil {
			return err
		}
		var gone []keys.Key
		for _, k := range itemKeys {
			if kept[k] == nil {
				gone = append(gone, k)
			}
		}
		done.Removed += len(gone)
		if err := Each(ctx, len(gone), func(ctx context.Context, i int) error { return t.Delete(ctx, gone[i]) }); err != nil {
			return err
		}
		return within()
	})
	if err != nil {
		return done, err
	}
	done.Put++
	return done, t.Put(ctx, last)
}

// scan reads the table to its end, 1 MB at a time, and calls f with what it finds in an organization's partitions, be it nothing.
func (t *Table) scan(ctx context.Context, org collab.OrganizationRef, f func([]Item) error) error {
	var from map[string]types.AttributeValue
	for {
		page, err := t.db.Scan(ctx, &dynamodb.ScanInput{TableName: &t.name, ExclusiveStartKey: from, ReturnConsumedCapacity: consumed})
		if err != nil {
			return Fail(ctx, err)
		}
		var items []Item
		for _, it := range page.Items {
			if keys.InOrganization(Item(it).Text(keys.PK), org.Account, org.Organization) {
				items = append(items, it)
			}
		}
		if err := f(items); err != nil {
			return err
		}
		if from = page.LastEvaluatedKey; len(from) == 0 {
			return nil
		}
	}
}
