// Package schema holds the types, fields and versions of a Paimon table's schema and their JSON form on disk.
//
// It is pure: no file is read or written here. A schema file `schema/schema-<id>` is the marshalled form of one
// [Table]. Ids of fields are assigned once and never used again, nested fields included, so that files written
// under older schemas keep their meaning.
//
// A schema changes by [Table.Alter], which makes the next version. It takes only changes under which rows in place keep
// their values.
//
// It must agree with org.apache.paimon.schema.TableSchema, SchemaSerializer, DataTypeJsonParser, SchemaValidation,
// SchemaManager and SchemaChange.
package schema
