// Command starter starts, watches and settles runs, and looks into the lake.
//
// It talks to Temporal and to the person at the terminal. What a run does is in the workflows; what lies in a table is
// read through internal/app.
package main
