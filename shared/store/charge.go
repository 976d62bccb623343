package store

import (
	"slices"
	"strings"

	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// charge is what a call writes to one place: a partition of the table by its key, or, as "indexes of …", those of an organization.
// DynamoDB tells neither which partition of an index refuses nor, in an update, which ones are written.
type charge struct {
	place string
	units float64 // about
}

// charges are the places that each write of a call writes to: that of the table, then that of its indexes.
func charges(writes []Write) [][]charge {
	times := 1.0
	if len(writes) > 1 {
		times = 2 // a transaction's writes cost twice
	}
	list := make([][]charge, len(writes))
	for i, w := range writes {
		switch {
		case w.Put != nil:
			list[i] = putting(w.Put.Item, times)
		case w.Update != nil:
			list[i] = changing(w.Update.Key, times)
		case w.Delete != nil:
			list[i] = changing(w.Delete.Key, times)
		case w.ConditionCheck != nil:
			list[i] = changing(w.ConditionCheck.Key, times)[:1]
		}
	}
	return list
}

func putting(it Item, times float64) []charge {
	list := changing(it, times)
	list[0].units = times * float64(it.Size()/1024+1)
	indexed := func(ix table.Index) bool { return it[ix.SortKey] != nil }
	if !slices.ContainsFunc(table.Indexes(), indexed) {
		return list[:1]
	}
	return list
}

func changing(key Item, times float64) []charge {
	pk := key.Text(table.PK)
	list := []charge{{pk, times}}
	if organization := table.OrganizationOf(pk); organization != "" {
		list = append(list, charge{"indexes of " + organization, 1})
	}
	return list
}

// together adds up the charges of a call by place.
func together(list [][]charge) (sum []charge) {
	for _, charges := range list {
		for _, c := range charges {
			i := slices.IndexFunc(sum, func(s charge) bool { return s.place == c.place })
			if i < 0 {
				sum = append(sum, c)
			} else {
				sum[i].units += c.units
			}
		}
	}
	return sum
}

// refusedBy returns the place that refused a call for lack of capacity.
func refusedBy(err error, list [][]charge) (charge, bool) {
	item := max(0, reason(err, throttled...))
	if item >= len(list) || len(list[item]) == 0 {
		return charge{}, false
	}
	index := false
	for _, r := range cancellation(err) {
		index = index || strings.Contains(aws.ToString(r.Message), "global secondary index")
	}
	for _, r := range throttlingReasons(err) {
		index = index || strings.HasPrefix(aws.ToString(r.Reason), "Index")
	}
	if index {
		return list[item][len(list[item])-1], true
	}
	return list[item][0], true
}
