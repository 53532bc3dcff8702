// Package chaos runs jobs for as long as it is asked to while workers, the Temporal server and the connections to MySQL are
// killed at random moments, and counts what the tables hold against MySQL, with Paimon's own library as the judge.
//
// Several tables are loaded at once, each in a lane of its own: rows change, a run is made, and its snapshot is compared row by
// row before rows change again. Some runs are cancelled and some terminated by the way. A run that ends without being
// committed must have changed nothing. What happens is drawn from a seed, which is printed; what it meets is not, since
// processes take their own time.
//
// `make test` runs it for two minutes, `make chaos` for as long as CHAOS says. It has tests alone.
package chaos
