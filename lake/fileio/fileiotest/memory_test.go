package fileiotest_test

import (
	"testing"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
)

func TestMemory(t *testing.T) {
	fileiotest.Run(t, fileiotest.Config{New: func(*testing.T) fileio.Store { return fileiotest.NewMemory() }})
}
