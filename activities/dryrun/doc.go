// Package dryrun tries a plan on some rows: it reads and encodes them as a run does, keeps nothing, and tells which values
// would not arrive as they are and how large and slow the whole may get. It is no part of a run, and it writes nothing.
//
// What it reads is bounded in rows and in time. A value is shown with the primary key of its row, and with no other column.
package dryrun
