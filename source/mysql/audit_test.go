package mysql_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// audited are faults that users of other tools met, and the tests here that have their input and others of the kind. A test
// is a folder and a function, and after a slash the name of one of its cases, as the test's file has it.
type audited struct {
	report string
	fault  string
	tests  []string
}

// audit lists them: splits that lose or repeat rows, types and time zones, long reads and memory. Those of the source run
// against MariaDB, MySQL 5.7 and MySQL 8.0, and compare with what the server itself says.
func audit() []audited {
	const lost = "source/mysql TestSplitsThatLostRows/"
	return []audited{
		{"airbytehq/airbyte #85351", "the first value of a composite key vanishes", []string{lost + "first_group", lost + "middle_group", lost + "last_group"}},
		{"airbytehq/airbyte #69073", "the row of the least key never arrives", []string{
			lost + "from_one", lost + "from_zero", lost + "from_minus_one", lost + "from_the_least", lost + "to_the_greatest",
		}},
		{"apache/seatunnel #4732, PeerDB #3951", "rows whose split column is NULL are gone", []string{lost + "null_in_unique", lost + "null_only", lost + "null_in_text"}},
		{"alibaba/DataX #2266, #1557", "text is cut in another order than its collation's", []string{lost + "mixed_case", lost + "mixed_accents", lost + "padded", lost + "quotes"}},
		{"apache/flink-cdc #2676", "a first column of few values makes one split of all", []string{
			lost + "two_first_values", lost + "one_first_value", lost + "flag_first", "source/mysql TestMemory/small rows",
		}},
		{"apache/flink-cdc #1375", "the last split has no upper bound and grows", []string{
			"source/mysql TestBusyTable/by_number", "source/mysql TestBusyTable/by_time", "source/mysql TestBusyTable/by_text", "source/mysql TestBoundsStay",
		}},
		{"alibaba/DataX #1181", "sparse ids make a million splits", []string{
			"source/mysql TestSparseIDs", lost + "flakes_unsigned", lost + "a_huge_gap", lost + "growing_gaps", "source/mysql TestManySplits",
		}},
		{"github/gh-ost #1119, mydumper #1727, PeerDB #2974", "bounds of DECIMAL match nothing, steps overflow, unsigned fails", []string{
			lost + "decimal_32", lost + "decimal_38", lost + "decimal_zero", lost + "to_the_greatest", lost + "to_the_greatest_by_count",
		}},
		{"apache/seatunnel #4115", "a split that was assigned is forgotten", []string{
			"e2e TestWorkerKilledInWrite", "e2e TestWorkerKilledAfterPublish", "activities TestVerifyFindsWhatDoesNotAgree", "activities TestPlanIsTakenUpWithItsHoles",
		}},
		{"datazip-inc/olake #125", "a source that dies is reported as a success", []string{"internal/app TestConnectionsThatAreCut", "source/mysql TestStreamBroken"}},
		{"datazip-inc/olake #471", "an empty table, or stale statistics, fail the run", []string{
			"source/mysql TestShardsInAllStates", "source/mysql TestShardsOfEveryKey", "source/mysql TestSplitStatistics",
		}},
		{"PeerDB #3490, olake #811, apache/paimon #945", "instants are read as the session's wall clock", []string{
			"source/mysql TestTimeZones", "source/mysql TestSession", "source/mysql TestSwallowedSettings",
		}},
		{"apache/paimon #9216, #5556, #10034, #3800", "buckets and folders by the wrong form of a value", []string{
			"source/mysql TestBucketsOfServersValues", "lake/bucket TestBucketsAreJavas", "lake/partition TestPathsAreJavas", "e2e TestBucketedTarget", "e2e TestPartitionedAppend",
		}},
		{"apache/paimon #1020", "shards of other precisions, widths, order and keys", []string{
			"source/mysql TestDriftedShards", "source/mysql TestShardsWithOtherColumns", "internal/app TestDriftedShardsBecomeOneTable", "source TestMergeRefusesDrift",
		}},
		{"olake and DataX, documented", "DECIMAL as double, BIGINT UNSIGNED as signed, BINARY as text", []string{
			"source/mysql TestValues", "source/mysql TestDigitsStay", "source/mysql TestEveryBit", "e2e TestTypesOnEveryServer",
		}},
		{"go-sql-driver/mysql #673, DataX #2255, airbyte #8890", "the server cuts a reader that is slow", []string{
			"source/mysql TestSlowCaller", "source/mysql TestNetWriteTimeout", "source/mysql TestStreamBroken",
		}},
		{"alibaba/DataX #56", "the whole result is held in memory", []string{"source/mysql TestMemory", "source/mysql TestLargeRow", "source/mysql TestBatches"}},
	}
}

// TestEveryReportHasItsTests keeps the list true: what it names is there, and of each report at least one test runs on every
// server.
func TestEveryReportHasItsTests(t *testing.T) {
	for _, a := range audit() {
		everywhere := false
		require.GreaterOrEqual(t, len(a.tests), 2, a.report)
		for _, name := range a.tests {
			folder, function, ok := strings.Cut(name, " ")
			require.True(t, ok, name)
			function, sub, _ := strings.Cut(function, "/")
			files, err := filepath.Glob(filepath.Join("..", "..", folder, "*_test.go"))
			require.NoError(t, err)
			var text strings.Builder
			for _, f := range files {
				data, err := os.ReadFile(f)
				require.NoError(t, err)
				if filepath.Base(f) != "audit_test.go" {
					text.Write(data)
				}
			}
			_, body, found := strings.Cut(text.String(), "func "+function+"(")
			require.True(t, found, "%s (%s): there is no %s", a.report, a.fault, name)
			body, _, _ = strings.Cut(body, "\n}\n")
			everywhere = everywhere || strings.Contains(body, "onAll(") || strings.Contains(body, "testenv.Flavors()")
			require.True(t, sub == "" || strings.Contains(text.String(), `"`+sub+`"`), "%s (%s): there is no %s", a.report, a.fault, name)
		}
		require.True(t, everywhere, "%s (%s): no test runs on every server", a.report, a.fault)
	}
}
