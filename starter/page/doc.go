// Package page fits what the starter prints to the width of a terminal and to the patience of who reads it.
//
// It knows tables and text, not what they are about. What it leaves out is in the output of --json, and it says so.
package page
