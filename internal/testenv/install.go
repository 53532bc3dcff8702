package testenv

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// Installable lists the names that [Install] knows.
func Installable() []string {
	var names []string
	for _, f := range Flavors() {
		names = append(names, string(f))
	}
	names = append(names, Judges()...)
	for _, version := range MetastoreVersions() {
		names = append(names, hmsName+version)
	}
	return append(names, s3Name, hdfsName, minioName)
}

// Needed lists what `make test` needs: all that is installable but what the long legs need.
func Needed() []string {
	return slices.DeleteFunc(Installable(), func(name string) bool { return name == minioName })
}

// Judges lists the names that [JudgeCommand] knows: the referee, those of other releases of Paimon, and the reader.
func Judges() []string { return append(refereeNames(), readerName) }

// Install puts servers and judges in place ahead of the tests that need them. Without names it installs everything but what
// only the long legs need.
func Install(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		names = Needed()
	}
	for _, name := range names {
		if err := installNamed(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func installNamed(ctx context.Context, name string) error {
	if release, ok := releaseOf(name); ok {
		_, err := installReferee(ctx, release)
		return err
	}
	if name == readerName {
		_, err := installReader(ctx)
		return err
	}
	if name == s3Name || name == minioName {
		_, err := installS3(ctx, name)
		return err
	}
	if version, ok := strings.CutPrefix(name, hmsName); ok && slices.Contains(MetastoreVersions(), version) {
		_, _, err := installMetastore(ctx, version)
		return err
	}
	if name == hdfsName {
		_, err := installHDFS(ctx)
		return err
	}
	f, err := ParseFlavor(name)
	if err != nil {
		return fmt.Errorf("nothing to install is called %q: it is one of %v", name, Installable())
	}
	b, err := installServer(ctx, f)
	if err != nil {
		return err
	}
	_, err = template(ctx, f, b)
	return err
}

// JudgeCommand is one of [Judges] as a program of its own, installed and ready to run with these arguments.
func JudgeCommand(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	if release, ok := releaseOf(name); ok {
		classPath, err := installReferee(ctx, release)
		return refereeCommand(ctx, release, classPath, args...), err
	}
	if name == readerName {
		dir, err := installReader(ctx)
		return (&Reader{dir: dir}).command(ctx, args...), err
	}
	return nil, fmt.Errorf("no judge is called %q: it is one of %v", name, Judges())
}
