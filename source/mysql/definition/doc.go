// Package definition is the text by which a plan remembers how a column is read: the column's type in the server's own
// words, and what else decides about its values. Two columns with one definition are read alike.
//
// It makes the text of what information_schema says, and takes it apart. It knows no lake type and no server.
//
// It must agree with COLUMN_TYPE and EXTRA of the MySQL manual's "The INFORMATION_SCHEMA COLUMNS Table", and of
// MariaDB's, which also knows PERSISTENT.
package definition
