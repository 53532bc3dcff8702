package activities_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// audited are faults of commit, retry, abort and cleaning that users of other tools met, and the tests here that have their
// conditions. A test is a folder and a function.
type audited struct {
	report string
	fault  string
	tests  []string
}

func audit() []audited {
	return []audited{
		{"apache/paimon #9269, #7232, apache/fluss #3370", "an abort after an error deletes what a snapshot names", []string{
			"activities TestCommitWhoseAnswerIsLost", "activities TestAbortFindsAnUnrecordedCommit", "activities TestAbortInDoubtDeletesNothing",
			"activities TestZombieSweep", "activities TestFaultSweepCatchesBrokenBuilds", "e2e TestWorkerKilledAfterPublish",
		}},
		{"apache/paimon #6777, #6778", "a rename that worked says that it failed", []string{
			"lake/commit TestSweepOneFault", "lake/commit TestALostAnswerIsUnknown", "lake/commit TestAReplacedSnapshotThatOthersBuiltOn",
			"lake/fileio/s3 TestCompletedWithoutAnAnswer",
		}},
		{"apache/flink-cdc #3504, #3639", "a commit that is made again adds its files again", []string{
			"activities TestCommitAgain", "lake/commit TestPublishingAgainChangesNothing", "lake/commit TestRaceOfOneRequest",
		}},
		{"apache/seatunnel #11978, #7835", "prepared messages do not survive, identifiers are hashes", []string{
			"activities TestMessagesOutliveTheirProcess", "lake/message TestFilesComeBack", "lake/message TestMessagesOfEveryReleaseComeBack", "e2e/lake TestJavaCommitsOurMessages",
		}},
		{"apache/paimon #7010", "an overwrite whose answer is lost is made again as something else", []string{
			"activities TestReplacementWhoseAnswerIsLost", "lake/commit TestSweepOneFault", "activities TestFaultSweep",
		}},
		{"apache/paimon #8071, #8781, apache/seatunnel #8565, #9595", "independent writers of one bucket", []string{
			"activities TestKeyCollisions", "activities TestAddingToBucketsThatOthersAddTo", "e2e TestSixteenShardsIntoAKeyTable", "activities TestKeyTablesThatAreRefused",
		}},
		{"apache/paimon #9932", "cleaning up hides the first error", []string{
			"activities TestTheFirstErrorIsTold", "activities TestStorageFailuresSayWhereAndWhatToDo", "lake TestWriterUnderFaults",
		}},
		{"apache/paimon #6137", "a compaction beside a job makes it fail for ever", []string{
			"e2e/lake TestPaimonCompactsWhileWeWrite", "lake/commit TestACompactionIsNoConflict", "e2e TestMaintenanceBesideRuns", "activities TestJavaWriterBetweenUpserts",
		}},
		{"datazip-inc/olake #349", "an attempt that died leaves rows that the next one adds again", []string{
			"activities TestWriteThatLosesDropsItsFiles", "activities TestCleanRemovesOnlyWhatLost", "activities TestZombieOfAForgottenRun", "e2e TestWorkerKilledInWrite",
		}},
	}
}

// TestEveryReportHasItsTests keeps the list true: what it names is there.
func TestEveryReportHasItsTests(t *testing.T) {
	for _, a := range audit() {
		require.GreaterOrEqual(t, len(a.tests), 2, a.report)
		for _, name := range a.tests {
			folder, function, ok := strings.Cut(name, " ")
			require.True(t, ok, name)
			files, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
			require.NoError(t, err)
			found := false
			for _, f := range files {
				data, err := os.ReadFile(f)
				require.NoError(t, err)
				found = found || strings.Contains(string(data), "\nfunc "+function+"(t *testing.T)")
			}
			require.True(t, found, "%s (%s): there is no %s", a.report, a.fault, name)
		}
	}
}
