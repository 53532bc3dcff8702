package testenv

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func needJava() error {
	if err := need("javac", "sudo apt-get install openjdk-17-jdk-headless"); err != nil {
		return err
	}
	return need("mvn", "sudo apt-get install maven")
}

// BuildMaven packages a Maven project, once for each state of its pom.xml and src, and returns the folder of what it
// made. The project's dependencies are not copied: [PaimonClassPath] has them.
func BuildMaven(tb testing.TB, name, project string) string {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	sources := partFS{os.DirFS(project), []string{"pom.xml", "src"}}
	dir, err := installSources(ctx, name, name+" (Maven)", sources, func(tmp string) error {
		if err := needJava(); err != nil {
			return err
		}
		return run(ctx, tmp, "mvn", "-B", "-q", "-Dmdep.skip=true", "package")
	})
	if err != nil {
		tb.Fatalf("testenv: %s: %v", name, err)
	}
	return filepath.Join(dir, "target")
}

// JavaProgram compiles the Java program of a folder, once for each state of its pom.xml and src, and returns the class
// path to run it with: its classes, and what its pom.xml names, which Maven fetches. The pom.xml names all versions.
func JavaProgram(tb testing.TB, name, project string) string {
	tb.Helper()
	classPath, err := ProgramClassPath(context.WithoutCancel(tb.Context()), name, os.DirFS(project))
	if err != nil {
		tb.Fatalf("testenv: %s: %v", name, err)
	}
	return classPath
}

// ProgramClassPath is [JavaProgram] for a program outside of tests.
func ProgramClassPath(ctx context.Context, name string, project fs.FS) (string, error) {
	// The jars are apart from the classes, so that a change of the program fetches nothing.
	jars, err := ProgramJars(ctx, name, project)
	if err != nil {
		return "", err
	}
	needs := filepath.Join(jars, "*")
	dir, err := installSources(ctx, name, name, partFS{project, []string{"pom.xml", "src"}}, func(tmp string) error { return compile(ctx, tmp, needs) })
	return filepath.Join(dir, "classes") + ":" + needs, err
}

// ProgramJars fetches what the pom.xml of a project names, once for each state of it, and returns the folder of the jars.
func ProgramJars(ctx context.Context, name string, project fs.FS) (string, error) {
	if err := needJava(); err != nil {
		return "", err
	}
	return installSources(ctx, name+"-jars", "the jars of "+name+" (Maven)", partFS{project, []string{"pom.xml"}}, func(tmp string) error {
		return run(ctx, tmp, "mvn", "-B", "-q", copyJars, "-DincludeScope=runtime", "-DoutputDirectory="+tmp)
	})
}

// compile compiles the Java sources below src/main/java into the folder classes.
func compile(ctx context.Context, project, classPath string) error {
	args := []string{"-proc:none", "-nowarn", "--release", "17", "-encoding", "UTF-8", "-cp", classPath, "-d", "classes"}
	err := fs.WalkDir(os.DirFS(project), "src/main/java", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".java") {
			args = append(args, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	return run(ctx, project, "javac", args...)
}

// partFS is a folder with nothing at its top but the named parts, such as a Maven project without what builds left in it.
type partFS struct {
	fs.FS
	parts []string
}

// ReadDir hides everything else at the top.
func (p partFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(p.FS, name)
	if name == "." {
		entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !slices.Contains(p.parts, e.Name()) })
	}
	return entries, err
}
