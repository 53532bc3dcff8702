package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/colinmarc/hdfs/v2"

	"github.com/tributary-lake/tributary/lake/fileio"
)

// wrap names the operation and the file, and says what a person can do about an error. Missing rights and refused credentials
// become fs.ErrPermission.
func (s *Store) wrap(op, p string, err error) error {
	where := fmt.Sprintf("%s %s", op, s.URI(p))
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", where, err)
	case missing(err) && (op == "open" || op == "stat"):
		return fmt.Errorf("%s: %w", where, fileio.ErrNotExist)
	case exception(err, "ParentNotDirectoryException"):
		return fmt.Errorf("%s: %w; a file stands where a folder must be made", where, err)
	case denied(err) && s.cluster.options.KerberosClient == nil:
		return fmt.Errorf("%s: %w: give user %s the rights that docs/hdfs.md lists, or set target.hdfs.user or HADOOP_USER_NAME: %w",
			where, fs.ErrPermission, s.cluster.options.User, detailed(err))
	case denied(err):
		return fmt.Errorf("%s: %w: see the rights that docs/hdfs.md lists: %w", where, fs.ErrPermission, detailed(err))
	case exception(err, "SafeModeException"):
		return fmt.Errorf("%s: the name node is in safe mode and takes no changes: wait, or see hdfs dfsadmin -safemode get: %w", where, detailed(err))
	case exception(err, "QuotaExceededException"):
		return fmt.Errorf("%s: a quota is used up: free space, or see hdfs dfsadmin -setSpaceQuota and -setQuota: %w", where, detailed(err))
	case unreachable(err):
		return fmt.Errorf("%s: no name node of %s answers: %w", where, s.authority, err)
	}
	return fmt.Errorf("%s: %w", where, detailed(err))
}

// detailed adds what a node said to an error that shows only the kind of it.
func detailed(err error) error {
	var remote hdfs.Error
	if !errors.As(err, &remote) {
		return err
	}
	said, _, _ := strings.Cut(remote.Message(), "\n")
	return fmt.Errorf("%w: %s", err, said)
}

// exception tells whether a name node answered with a Java exception of that name, or one whose name ends so.
func exception(err error, name string) bool {
	var remote hdfs.Error
	return errors.As(err, &remote) && strings.HasSuffix(remote.Exception(), name)
}

// missing tells that there is no such file. HDFS refuses a path through a file, which names none either.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || exception(err, "FileNotFoundException") || exception(err, "ParentNotDirectoryException") ||
		exception(err, "AccessControlException") && strings.Contains(detailed(err).Error(), "is not a directory")
}

// denied tells that rights are missing, or credentials were refused.
func denied(err error) bool {
	return errors.Is(err, fs.ErrPermission) || exception(err, "AccessControlException")
}

// taken tells that a target exists.
func taken(err error) bool {
	return errors.Is(err, fs.ErrExist) || exception(err, "FileAlreadyExistsException")
}

// transient tells that a call failed in a way that may pass: no answer came, or one that asks to try again.
func transient(err error) bool {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, fs.ErrNotExist),
		errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrInvalid), errors.Is(err, errLibrary),
		errors.Is(err, errFinal):
		return false
	case exception(err, "RetriableException"), exception(err, "StandbyException"):
		return true
	}
	var remote hdfs.Error
	return !errors.As(err, &remote)
}

// errFinal marks errors of this package that another try does not change.
var errFinal = errors.New("final")

// unreachable tells that no name node could be connected to, which the library has no kind of error for.
func unreachable(err error) bool { return strings.Contains(err.Error(), "no available namenodes") }
