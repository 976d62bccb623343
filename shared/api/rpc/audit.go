package rpc

import (
	"context"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/platform"
)

// auditing reports whether the calls of an identity are in the audit log.
func (o Options) auditing(id collab.Identity) bool {
	return o.Audited || o.Changes && id.Operator != ""
}

// audited runs a call and records it. The record is stored before the call, so a call without a
// record changes nothing. If the call fails, its code is added, unless that fails too.
func (s *Server) audited(x *exchange, data reflect.Value, fields *Object, operate func() (response, error)) (response, error) {
	if s.Audit == nil || x.ReadOnly {
		return operate()
	}
	a := x.act(data, fields)
	if err := s.Audit(x.ctx, a); err != nil {
		return response{}, err
	}
	done, err := operate()
	if err != nil {
		a.Error = collab.CodeOf(err)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), platform.SettleTime)
		defer cancel()
		_ = s.Audit(ctx, a)
	}
	return done, err
}

// act returns the record of the exchange.
func (x *exchange) act(data reflect.Value, fields *Object) collab.Act {
	a := collab.Act{
		Account: x.Account, At: x.Now.UnixMilli(), ID: x.IDs.Mark(), Operation: x.Path, RequestID: collab.RequestIDOf(x.ctx), IDs: map[string][]string{},
	}
	switch {
	case x.Operator != "":
		a.By, a.Actor = collab.ByOperator, x.Operator
	case x.Person != nil:
		a.By, a.Actor = collab.ByPerson, x.Person.UserID
	default:
		a.By, a.Actor = collab.ByBackEnd, x.APIKey
	}
	if fields == nil {
		return a
	}
	left := collab.MaxActIDs
	fields.ids(data, func(name, id string) {
		switch {
		case slices.Contains(a.IDs[name], id):
		case len(name)+len(id) > left:
			a.Omitted++
		default:
			left -= len(name) + len(id)
			a.IDs[name] = append(a.IDs[name], id)
		}
	})
	for name := range collab.JSON(x.body).Get("data").Members() {
		if _, ok := fields.byName[name]; ok && a.IDs[name] == nil {
			a.Fields = append(a.Fields, name)
		}
	}
	return a
}

// isID reports whether a field of a request contains ids.
func isID(name string) bool {
	return name == "id" || name == "apiKey" || name == "hash" || strings.HasSuffix(name, "Id") || strings.HasSuffix(name, "Ids")
}

// ids yields the ids of a request, at any depth.
func (o *Object) ids(v reflect.Value, yield func(name, id string)) {
	for _, f := range o.Fields {
		f.Shape.ids(f.Name, v.FieldByIndex(f.index), yield)
	}
}

func (p *Shape) ids(name string, v reflect.Value, yield func(name, id string)) {
	switch p.Kind {
	case KindPointer:
		if !v.IsNil() {
			p.Elem.ids(name, v.Elem(), yield)
		}
	case KindOpt, KindOne:
		p.Elem.ids(name, v.Field(0), yield)
	case KindArray:
		for i := range v.Len() {
			p.Elem.ids(name, v.Index(i), yield)
		}
	case KindStruct:
		p.Object.ids(v, yield)
	case KindString:
		if isID(name) && v.String() != "" {
			yield(name, v.String())
		}
	case KindInteger:
		if isID(name) && v.Int() != 0 {
			yield(name, strconv.FormatInt(v.Int(), 10))
		}
	}
}
