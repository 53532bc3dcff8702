// Package watermark finds what is new in shards by a column that grows: for each shard a window above the watermark of the
// last one, whose upper end is fixed here and now, so low that no row can still become visible below it.
//
// A row's time is that of its statement, and the row becomes visible when its transaction commits. So a window of times ends
// before the server's clock and before the beginning of the oldest transaction that may have written, both less the overlap. The
// number of a row is given when it is inserted: the greatest visible number is a bound once all transactions that were open
// when it was seen have ended. What a server does not show (PROCESS is missing; a replica has not received it) nobody can wait
// for: then the overlap alone holds a window back, and the notes say so.
//
// Invariants:
//   - The clock is read first, the open transactions after it and the greatest value last; integers: greatest value first.
//   - A list of transactions counts only if it was made after the question: the server repeats an old one for a tenth of a
//     second, or for as long as others keep asking.
//   - Values of the column are compared by the server alone. What is computed here are times of its clock, and bounds
//     of windows that are read again.
//
// It reads no rows of shards and opens no connections.
//
// It must agree with the MySQL manual's "The INFORMATION_SCHEMA INNODB_TRX Table" and "InnoDB INFORMATION_SCHEMA Transaction
// and Locking Information", and with trx0i_s.cc: TRX_STARTED is in the system's time zone, and the list is cached.
package watermark
