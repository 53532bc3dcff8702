package sink

import "errors"

// The classes of errors that tell a caller what it may do. Errors of drivers wrap one of them; any other error is of unknown
// kind and is treated as [ErrDoubt].
var (
	// ErrDenied is returned when the server rejects the account or lacks what is asked for. Trying again is of no use before
	// somebody changes it.
	ErrDenied = errors.New("denied")
	// ErrRefused is returned for rows, or for a request, that the server will not take as they are. Trying again is of no use
	// before the configuration, the table or the rows change.
	ErrRefused = errors.New("refused")
	// ErrUnavailable is returned when no server was reached, or none was willing to begin. Nothing was done.
	ErrUnavailable = errors.New("unavailable")
	// ErrBusy is returned when the server has too much to do: too many versions, too many transactions. The transaction is
	// lost; the attempt may be made again, after a while and under a new label.
	ErrBusy = errors.New("busy")
	// ErrLost is returned when the transaction is rolled back, whoever did it. None of its rows will be seen; the attempt may
	// be made again under a new label.
	ErrLost = errors.New("transaction lost")
	// ErrDoubt is returned when a request was sent and its outcome is not known. Only the label's state tells.
	ErrDoubt = errors.New("outcome in doubt")
	// ErrUnknown is returned when the label's state does not tell either: the server has forgotten the label. The rows may be
	// in the table; sending them again could double them. Only somebody who looks at the table can go on.
	ErrUnknown = errors.New("outcome unknown")
)
