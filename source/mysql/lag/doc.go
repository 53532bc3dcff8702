// Package lag asks a replica how far it is behind, by the statement that its release knows (MySQL Reference Manual, "SHOW REPLICA
// STATUS"; MariaDB, "SHOW REPLICA STATUS").
package lag
