package testenv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// CacheDir is where installs live: $TRIBUTARY_CACHE, or tributary in the user's cache directory. It exists afterwards.
func CacheDir() (string, error) {
	dir := os.Getenv("TRIBUTARY_CACHE")
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no cache directory (%w): set TRIBUTARY_CACHE to a folder with 2 GB to spare", err)
		}
		dir = filepath.Join(base, "tributary")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("cache directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("cache directory: %w: set TRIBUTARY_CACHE to a folder that can be written", err)
	}
	return dir, nil
}

// withLock runs f while no other process or goroutine holds the lock of that name.
func withLock(ctx context.Context, name string, f func() error) error {
	cache, err := CacheDir()
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(cache, "."+name+".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("lock %s: %w", name, err)
	}
	defer func() { _ = file.Close() }() // closing unlocks; nothing was written
	told := false
	err = poll(ctx, 100*time.Millisecond, func() (bool, error) {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return false, err
		}
		if !told {
			told = true
			say("%s is being installed by another process, waiting", name)
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	return f()
}

// poll calls f at once and then at every interval until it is done, fails, or ctx ends.
func poll(ctx context.Context, every time.Duration, f func() (bool, error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if done, err := f(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// say prints one line of progress. Installs speak on stderr because a silent minute looks like a hang.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "testenv: "+format+"\n", args...) }

// install runs f, saying what is being put in place and how long it took.
func install(what string, f func() error) error {
	say("installing %s", what)
	began := time.Now()
	if err := f(); err != nil {
		return fmt.Errorf("install %s: %w", what, err)
	}
	say("installed %s in %s", what, time.Since(began).Round(100*time.Millisecond))
	return nil
}

// digest is a short name for a set of bytes, used to notice that an installed thing is out of date.
func digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// replaceDir makes fill's result appear at dir in one step, so that a crash never leaves half an install.
func replaceDir(dir string, fill func(tmp string) error) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp := dir + ".new"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return err
	}
	if err := fill(tmp); err != nil {
		return errors.Join(err, os.RemoveAll(tmp))
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}
