package testenv

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tributary-lake/tributary/e2e/referee"
)

// Names of the judges for [Install].
const (
	refereeName = "referee"
	readerName  = "reader"
)

// installReader makes a Python environment with paimon-rust and returns its directory, which also holds reader.py.
func installReader(ctx context.Context) (string, error) {
	return installSources(ctx, readerName, "the Rust reader (pip)", referee.Python, func(tmp string) error {
		python, err := pythonWithVenv(ctx)
		if err != nil {
			return err
		}
		if err := run(ctx, tmp, python, "-m", "venv", "venv"); err != nil {
			return err
		}
		return run(ctx, tmp, filepath.Join(tmp, "venv", "bin", "python"), "-m", "pip", "install", "-q",
			"--disable-pip-version-check", "-r", "requirements.txt")
	})
}

// pythonWithVenv finds a Python that can make environments; Debian has that part in a package of its own.
func pythonWithVenv(ctx context.Context) (string, error) {
	if python, ok := lookFor("python3"); ok && run(ctx, "", python, "-c", "import venv, ensurepip") == nil {
		return python, nil
	}
	err := install("Python with venv (Debian packages)", func() error { return aptInstall(ctx, "python3", "python3-venv") })
	return "/usr/bin/python3", err
}

// PyPI installs a package of PyPI, such as `pyspark==3.5.8`, with what it needs, once, and returns the folder that they lie in.
func PyPI(ctx context.Context, requirement string) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "pypi-"+requirement)
	return dir, installOnce(ctx, requirement, requirement+" (PyPI)", dir, func() error {
		python, err := pythonWithVenv(ctx)
		if err != nil {
			return err
		}
		return replaceDir(dir, func(tmp string) error {
			// Only pip is used of the environment: programs in it would know its folder by name.
			venv := filepath.Join(tmp, "venv")
			if err := run(ctx, tmp, python, "-m", "venv", venv); err != nil {
				return err
			}
			pip := filepath.Join(venv, "bin", "python")
			if err := run(ctx, tmp, pip, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", tmp, requirement); err != nil {
				return err
			}
			return os.RemoveAll(venv)
		})
	})
}

// installSources unpacks sources into a directory named by their hash and has build finish it, once.
func installSources(ctx context.Context, name, what string, sources fs.FS, build func(dir string) error) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	key, err := digestFS(sources)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, name+"-"+key)
	return dir, installOnce(ctx, name, what, dir, func() error {
		return replaceDir(dir, func(tmp string) error {
			if err := os.CopyFS(tmp, sources); err != nil {
				return fmt.Errorf("unpack %s: %w", name, err)
			}
			return build(tmp)
		})
	})
}

func digestFS(sources fs.FS) (string, error) {
	var parts [][]byte
	err := fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(sources, path)
		parts = append(parts, []byte(path), data)
		return err
	})
	return digest(parts...), err
}
