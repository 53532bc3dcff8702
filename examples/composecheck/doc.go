// Package composecheck holds one test: that docker-compose.yml at the repository's root is a valid compose file and
// says what the documentation says. It is a module of its own so that the compose library, which only this test needs,
// never chooses what the programs are built from.
//
// It is not a run of the containers: that needs a container engine.
package composecheck
