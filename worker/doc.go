// Command worker runs the workflows and activities of Tributary until it is told to stop.
//
// On SIGTERM or SIGINT it takes no new work, lets what it has go on for a while, and ends; what is left is tried again
// by another worker.
package main
