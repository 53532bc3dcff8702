// Package condition looks whether a condition that a user gives stays one part of the WHERE clause that it is put into, by the rules
// of MySQL for literals and comments (MySQL Reference Manual, "String Literals" and "Comments"). It parses no more than that.
package condition
