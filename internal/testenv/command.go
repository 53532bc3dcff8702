package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// run runs a command in dir to its end. Its output is shown only as part of the error.
func run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	shown, _, _ := strings.Cut(cmd.String(), "\n") // a script is told by its first line
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", shown, ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", shown, err, lastLines(string(out), 30))
	}
	return nil
}

// lookFor finds a program on the PATH or where daemons live, which an ordinary user's PATH lacks.
func lookFor(name string) (string, bool) {
	if path, err := exec.LookPath(name); err == nil {
		return path, true
	}
	for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/local/sbin"} {
		if path := filepath.Join(dir, name); exists(path) {
			return path, true
		}
	}
	return "", false
}

// need reports a missing program together with what to type.
func need(program, remedy string) error {
	if _, ok := lookFor(program); ok {
		return nil
	}
	return fmt.Errorf("%s is not on the PATH: type `%s`", program, remedy)
}

// aptScript installs packages without letting them start their services, which would take the default ports.
const aptScript = `# install packages without starting services
set -e
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap 'rm -f $policy' EXIT
  printf '#!/bin/sh\nexit 101\n' > $policy
  chmod +x $policy
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -o DPkg::Lock::Timeout=300 update -q
apt-get -o DPkg::Lock::Timeout=300 install -qq -y --no-install-recommends "$@"
`

// aptInstall installs Debian packages as root, or through a sudo that asks for no password.
func aptInstall(ctx context.Context, packages ...string) error {
	list := strings.Join(packages, " ")
	remedy := "sudo apt-get install --no-install-recommends " + list
	if _, ok := lookFor("apt-get"); !ok {
		return fmt.Errorf("this system has no apt-get: install %s by hand", list)
	}
	args := append([]string{"sh", "-c", aptScript, "apt"}, packages...)
	if os.Getuid() != 0 {
		if err := run(ctx, "", "sudo", "-n", "true"); err != nil {
			return fmt.Errorf("neither root nor a sudo without password: type `%s`", remedy)
		}
		args = append([]string{"sudo", "-n"}, args...)
	}
	return withLock(ctx, "apt", func() error {
		if err := run(ctx, "", args[0], args[1:]...); err != nil {
			return fmt.Errorf("%w\ntype `%s` to see more", err, remedy)
		}
		return nil
	})
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}
