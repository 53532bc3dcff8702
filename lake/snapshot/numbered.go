package snapshot

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tributary-lake/tributary/lake/fileio"
)

// maxFileSize bounds what is read of the files of this package. A schema of thousands of columns takes less than 1 MiB.
const maxFileSize = 16 << 20

// numbered returns the numbers of the files `<prefix><number>` right in a folder, ascending. Other files, temporary ones
// and numbers with leading zeros are passed over.
func numbered(ctx context.Context, s fileio.Store, folder, prefix string) ([]int64, error) {
	var list []int64
	err := s.List(ctx, folder, func(info fileio.Info) error {
		digits, ok := strings.CutPrefix(info.Path, folder+"/"+prefix)
		if !ok {
			return nil
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err == nil && strconv.FormatInt(n, 10) == digits && n >= 0 {
			list = append(list, n)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", s.URI(folder), err)
	}
	slices.Sort(list)
	return list, nil
}
