// Command demoshards is the demo MySQL shards alone, for a demonstration beside a Temporal that runs already. When they
// can be read it prints one line of JSON on stdout, and then it runs until it is interrupted.
//
// It links nothing of Temporal, so it is built in a fraction of devserver's time. Package demoshards says what the
// shards hold and what they are not.
package main
