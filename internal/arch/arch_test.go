package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/tributary-lake/tributary/"

type pkg struct {
	ImportPath string
	Dir        string
	Name       string
	GoFiles    []string
	Imports    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Name,GoFiles,Imports", "./...")
	cmd.Dir = "../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	var list []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		list = append(list, p)
	}
	require.NotEmpty(t, list)
	return list
}

func short(importPath string) string { return strings.TrimPrefix(importPath, module) }

func matches(pattern, name string) bool {
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == base || strings.HasPrefix(name, base+"/")
	}
	return pattern == name
}

func anyMatch(patterns []string, name string) bool {
	for _, p := range patterns {
		if matches(p, name) {
			return true
		}
	}
	return false
}

// layerOf returns the index of a package's layer, or -1.
func layerOf(name string) int {
	for i, l := range layers() {
		if anyMatch(l.packages, name) {
			return i
		}
	}
	return -1
}

func TestImportLaw(t *testing.T) {
	for _, p := range packages(t) {
		from := short(p.ImportPath)
		if anyMatch(free(), from) {
			continue
		}
		for _, imported := range p.Imports {
			if to, ok := strings.CutPrefix(imported, module); ok {
				if why := forbidden(from, to); why != "" {
					t.Errorf("%s must not import %s: %s", from, to, why)
				}
			}
		}
	}
}

// forbidden says why an import breaks the law, or "".
func forbidden(from, to string) string {
	if anyMatch(free(), to) {
		return "it is for tests"
	}
	if allowed, ok := rim()[from]; ok {
		if anyMatch(allowed, to) {
			return ""
		}
		return "a driver imports only the core that it serves"
	}
	for driver := range rim() {
		if to == driver && from == "internal/app" && !partOfDriver(to) {
			return ""
		}
		if matches(driver+"/...", to) {
			return "drivers are chosen in internal/app alone, and their parts are theirs"
		}
	}
	if to == "config" && !anyMatch(configImporters(), from) {
		return "only internal/app and the mains know configuration"
	}
	if strings.HasPrefix(to, "config/") && from != "config" {
		return "what config is made of is its own"
	}
	f, g := layerOf(from), layerOf(to)
	switch {
	case f < 0:
		return from + " stands in no layer: add it to internal/arch/law.go"
	case g < 0:
		return to + " stands in no layer: add it to internal/arch/law.go"
	case g < f:
		return ""
	case g == f:
		for _, w := range layers()[f].within {
			if w[0] == from && w[1] == to {
				return ""
			}
		}
	}
	return layers()[f].why
}

// partOfDriver tells whether a package lies below a driver.
func partOfDriver(name string) bool {
	for driver := range rim() {
		if strings.HasPrefix(name, driver+"/") {
			return true
		}
	}
	return false
}

// TestLawSeesViolations shows that the check can fail.
func TestLawSeesViolations(t *testing.T) {
	for _, c := range [][2]string{
		{"lake/schema", "lake/row"},
		{"lake/commit", "ledger/x"},
		{"lake", "source/mysql"},
		{"activities", "workflows"},
		{"workflows", "config"},
		{"lake", "config/document"},
		{"source", "lake/commit"},
		{"lake/commit", "lake"},
		{"lake/manifest/avro", "lake/manifest"},
		{"lake/snapshot", "lake/manifest/avro"},
		{"lake/fileio", "lake/fileio/faultio"},
		{"activities", "source/mysql"},
		{"activities", "internal/testenv"},
		{"ledger", "lake/message"},
		{"source/mysql", "lake/datafile"},
		{"source/mysql/new", "lake/row"},
		{"internal/app", "source/mysql/new"},
	} {
		require.NotEmpty(t, forbidden(c[0], c[1]), "%s imports %s", c[0], c[1])
	}
}

func TestEveryPackageHasDocFileAndGoodName(t *testing.T) {
	nothing := map[string]bool{"util": true, "utils": true, "common": true, "shared": true, "types": true, "helpers": true, "misc": true, "base": true, "model": true, "constants": true}
	std := standardNames(t)
	for _, p := range packages(t) {
		if len(p.GoFiles) == 0 {
			continue
		}
		name := short(p.ImportPath)
		if !contains(p.GoFiles, "doc.go") {
			t.Errorf("%s has no doc.go: say what it is, what it is not, its invariants and what it must agree with", name)
		}
		last := filepath.Base(p.ImportPath)
		if p.Name == "main" {
			continue
		}
		if p.Name != last {
			t.Errorf("%s is named %s: a package is named as its folder", name, p.Name)
		}
		if nothing[p.Name] {
			t.Errorf("%s is named after nothing: name it after its one idea", name)
		}
		if std[p.Name] {
			t.Errorf("%s has the name of a standard package", name)
		}
	}
}

func standardNames(t *testing.T) map[string]bool {
	t.Helper()
	out, err := exec.Command("go", "list", "std").Output()
	require.NoError(t, err)
	names := map[string]bool{}
	for _, line := range strings.Fields(string(out)) {
		if !strings.Contains(line, "internal/") && !strings.HasPrefix(line, "vendor/") {
			names[filepath.Base(line)] = true
		}
	}
	return names
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func TestSizeBudgets(t *testing.T) {
	const fileLines, functionLines, methods, packageLines, packageFiles = 800, 100, 5, 3000, 20
	// A listed interface is larger for a reason that its documentation gives.
	listed := map[string]bool{"lake/fileio.Store": true}
	for _, p := range packages(t) {
		total := 0
		if len(p.GoFiles) > packageFiles {
			t.Errorf("%s has %d files, the budget is %d: move walls", short(p.ImportPath), len(p.GoFiles), packageFiles)
		}
		for _, f := range p.GoFiles {
			path := filepath.Join(p.Dir, f)
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			lines := bytes.Count(data, []byte("\n"))
			total += lines
			if lines > fileLines {
				t.Errorf("%s/%s has %d lines, the limit is %d: split it by idea", short(p.ImportPath), f, lines, fileLines)
			}
			fset := token.NewFileSet()
			parsed, err := parser.ParseFile(fset, path, data, 0)
			require.NoError(t, err)
			ast.Inspect(parsed, func(n ast.Node) bool {
				switch d := n.(type) {
				case *ast.FuncDecl:
					if n := fset.Position(d.End()).Line - fset.Position(d.Pos()).Line + 1; n > functionLines {
						t.Errorf("%s/%s: %s has %d lines, the limit is %d", short(p.ImportPath), f, d.Name.Name, n, functionLines)
					}
					if d.Recv == nil && d.Name.Name == "init" {
						t.Errorf("%s/%s has an init function", short(p.ImportPath), f)
					}
				case *ast.TypeSpec:
					if i, ok := d.Type.(*ast.InterfaceType); ok && i.Methods.NumFields() > methods && !listed[short(p.ImportPath)+"."+d.Name.Name] {
						t.Errorf("%s.%s has %d methods, the budget is %d", short(p.ImportPath), d.Name.Name, i.Methods.NumFields(), methods)
					}
				}
				return true
			})
		}
		if total > packageLines {
			t.Errorf("%s has %d lines, the budget is %d: it holds more than one idea", short(p.ImportPath), total, packageLines)
		}
	}
}
