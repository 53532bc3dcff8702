package demoshards

import (
	"fmt"
	"strings"
	"time"
)

// createTable is the table of every shard; the name goes in with fmt.
const createTable = `CREATE TABLE %s (
  id bigint NOT NULL AUTO_INCREMENT,
  order_no varchar(32) NOT NULL,
  customer_id bigint unsigned NOT NULL,
  status tinyint NOT NULL,
  items int NOT NULL,
  amount decimal(12,2) NOT NULL,
  discount decimal(12,2) DEFAULT NULL,
  city varchar(64) NOT NULL,
  note text,
  order_date date NOT NULL,
  created_at datetime NOT NULL,
  paid_at datetime DEFAULT NULL,
  PRIMARY KEY (id),
  KEY idx_customer (customer_id)
)`

// order is one row, in the order of createTable's columns. Amounts are in cents, and a nil pointer is NULL.
type order struct {
	id         int64
	orderNo    string
	customerID uint64
	status     int8
	items      int32
	amount     int64
	discount   *int64
	city       string
	note       *string
	createdAt  time.Time
	paidAt     *time.Time
}

// dice is a small generator of our own (SplitMix64), so that the rows stay the same whatever the Go release does.
type dice struct{ state uint64 }

func (d *dice) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

func (d *dice) below(n int64) int64 { return int64(d.next() % uint64(n)) }

// makeOrders gives the n rows of the shard with that number, by ascending id. Ids have gaps, as after deletions.
func makeOrders(shard, n int) []order {
	cities := []string{"Zürich", "北京", "São Paulo", "Nairobi", "Reykjavík", "O'Fallon", "Αθήνα", "Toronto"}
	notes := []string{"", "leave at the door", "ring twice; \"blue\" house", "back\\slash and\ttab", "生日礼物 🎁"}
	d := dice{state: uint64(shard)}
	first := time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)
	orders := make([]order, n)
	id := int64(0)
	for i := range orders {
		id++
		if d.below(50) == 0 {
			id += d.below(20)
		}
		o := order{
			id:         id,
			orderNo:    fmt.Sprintf("SO-%02d-%06d", shard, id),
			customerID: uint64(1 + d.below(5000)),
			status:     int8(d.below(5)) - 1, // -1 is a cancelled order
			items:      int32(1 + d.below(12)),
			amount:     100 + d.below(500_000),
			city:       cities[d.below(int64(len(cities)))],
			createdAt:  first.Add(time.Duration(i)*37*time.Minute + time.Duration(d.below(1800))*time.Second),
		}
		if d.below(200) == 0 { // partners' customers have numbers beyond the signed range
			o.customerID |= 1 << 63
		}
		if d.below(4) == 0 {
			discount := d.below(o.amount)
			o.discount = &discount
		}
		if k := d.below(int64(2 * len(notes))); k < int64(len(notes)) {
			o.note = &notes[k]
		}
		if o.status > 0 {
			paid := o.createdAt.Add(time.Duration(d.below(86_400)) * time.Second)
			o.paidAt = &paid
		}
		orders[i] = o
	}
	return orders
}

// insertStatement is one INSERT for all orders.
func insertStatement(table string, orders []order) string {
	var b strings.Builder
	b.WriteString("INSERT INTO " + table + " VALUES ")
	for i := range orders {
		if i > 0 {
			b.WriteByte(',')
		}
		o := &orders[i]
		fmt.Fprintf(&b, "(%d,%s,%d,%d,%d,%s,%s,%s,%s,'%s','%s',%s)",
			o.id, quote(o.orderNo), o.customerID, o.status, o.items, cents(o.amount), nullable(o.discount, cents),
			quote(o.city), nullable(o.note, quote), o.createdAt.Format(time.DateOnly), o.createdAt.Format(time.DateTime),
			nullable(o.paidAt, func(t time.Time) string { return quote(t.Format(time.DateTime)) }))
	}
	return b.String()
}

func nullable[T any](v *T, format func(T) string) string {
	if v == nil {
		return "NULL"
	}
	return format(*v)
}

func cents(v int64) string { return fmt.Sprintf("%d.%02d", v/100, v%100) }

func quote(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), `'`, `\'`) + "'"
}
