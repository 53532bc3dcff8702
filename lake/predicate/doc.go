// Package predicate says which rows are wanted: conditions on columns, bound to fields.
//
// A [Condition] is written with names, [Bind] ties conditions to fields. A [Predicate] then selects rows of a batch,
// decides on single rows such as a partition's values, and tells from statistics whether a set of rows may hold a wanted
// one. It reads nothing itself and knows neither files nor manifests: whoever plans a scan hands it what is known of them.
//
// What holds:
//   - a comparison never holds for NULL, nor for anything else than a value of the column's own type;
//   - values are ordered as [row.Compare] orders them: FLOAT and DOUBLE as Java does, -0 before 0 and NaN last;
//   - "may match" errs on one side only: a set of rows with a wanted one is never ruled out. Bounds may be unknown, or lie
//     further out than the values, as those of cut strings do. Of FLOAT and DOUBLE, where Parquet's writers leave NaN out
//     of the bounds or put it there, and mix up both zeros, only what holds for all of them is taken as known.
//
// It must agree with org.apache.paimon.predicate.LeafPredicate and its functions, and for files of older schemas with
// org.apache.paimon.stats.SimpleStatsEvolution, both as far as this errs on the safe side.
package predicate
