package testenv

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-lake/tributary/e2e/referee"
)

// DefaultRelease is the release of Paimon that [Referee] runs.
const DefaultRelease = "1.4.2"

// Releases are the releases of Paimon that [RefereeOf] runs, oldest first.
func Releases() []string { return []string{"1.0.1", "1.1.1", "1.2.0", "1.3.1", DefaultRelease} }

// Referee is the Java referee of [DefaultRelease], built and started when the first test asks for it.
func Referee(tb testing.TB) *JavaReferee {
	tb.Helper()
	return RefereeOf(tb, DefaultRelease)
}

// RefereeOf is the referee over another release of Paimon, one of [Releases], in a JVM of its own.
func RefereeOf(tb testing.TB, release string) *JavaReferee {
	tb.Helper()
	r, err := theReferees.get(release, func() (*JavaReferee, error) {
		return startReferee(context.WithoutCancel(tb.Context()), release)
	})
	if err != nil {
		tb.Fatalf("testenv: referee of Paimon %s: %v", release, err)
	}
	return r
}

// refereeNames are the names of the referees for [Install] and [JudgeCommand]: referee, and referee-1.0.1 and so on.
func refereeNames() []string {
	names := []string{refereeName}
	for _, release := range Releases() {
		if release != DefaultRelease {
			names = append(names, refereeName+"-"+release)
		}
	}
	return names
}

// releaseOf is the release that a referee's name asks for.
func releaseOf(name string) (string, bool) {
	if !slices.Contains(refereeNames(), name) {
		return "", false
	}
	if _, release, found := strings.Cut(name, "-"); found {
		return release, true
	}
	return DefaultRelease, true
}

// The parts of a class path. Everything but Paimon is shared by the releases.
const (
	sharedGroups = "org.apache.hadoop,org.slf4j,commons-logging"
	copyJars     = mavenDependency + ":copy-dependencies"
)

// PaimonClassPath fetches the release and what it needs to run, and returns them as a Java class path.
func PaimonClassPath(ctx context.Context, release string) (string, error) {
	if !slices.Contains(Releases(), release) {
		return "", fmt.Errorf("paimon %s is none of the releases %v", release, Releases())
	}
	fetch := func(filter string) func(tmp string) error {
		return func(tmp string) error {
			if err := needJava(); err != nil {
				return err
			}
			return run(ctx, tmp, "mvn", "-B", "-q", copyJars, "-DincludeScope=runtime", "-DoutputDirectory="+tmp,
				"-Dpaimon.version="+release, filter)
		}
	}
	shared, err := installSources(ctx, "jars", "Hadoop's client (Maven)", referee.JavaNeeds, fetch("-DincludeGroupIds="+sharedGroups))
	if err != nil {
		return "", err
	}
	paimon, err := installSources(ctx, "paimon-"+release, "Paimon "+release+" (Maven)", referee.JavaNeeds, fetch("-DexcludeGroupIds="+sharedGroups))
	return filepath.Join(paimon, "*") + ":" + filepath.Join(shared, "*"), err
}

// installReferee builds the Java referee for a release and returns its class path.
func installReferee(ctx context.Context, release string) (string, error) {
	if err := needJava(); err != nil {
		return "", err
	}
	needs, err := PaimonClassPath(ctx, release)
	if err != nil {
		return "", err
	}
	dir, err := installSources(ctx, refereeName+"-"+release, "the referee for Paimon "+release, referee.Java, func(tmp string) error {
		return compile(ctx, tmp, needs)
	})
	return filepath.Join(dir, "classes") + ":" + needs, err
}
