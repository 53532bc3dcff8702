// Package logged looks into a server's binary log for changes of tables since a position. It reads what SHOW BINLOG EVENTS
// prints, which names the tables of each change and none of their rows; it does not follow the log as a replica does.
//
// Invariant: a table that is not said to be changed has no change in the log; whatever the log may hold that does not name its
// tables, such as a statement, is not taken for none.
//
// Agrees with: 13.7.7.2 SHOW BINLOG EVENTS Statement of the MySQL 8.0 manual, the same page of MariaDB's, and the names of
// events in Log_event::get_type_str of both.
package logged
