package temporaldev

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// logger gives the server's log to slog. The server expects Fatal not to return and its usual logger ends the process;
// this one reports the failure and ends only the goroutine that called, so that a caller of Start gets an error.
type logger struct {
	out    *slog.Logger
	failed chan<- error
}

var (
	_ log.Logger     = logger{}
	_ log.WithLogger = logger{}
)

func attributes(tags []tag.Tag) []any {
	attrs := make([]any, 0, len(tags))
	for _, t := range tags {
		attrs = append(attrs, slog.Any(t.Key(), t.Value()))
	}
	return attrs
}

// With returns a logger that adds the tags to every line.
func (l logger) With(tags ...tag.Tag) log.Logger {
	return logger{out: l.out.With(attributes(tags)...), failed: l.failed}
}

// Debug logs at the level of that name.
func (l logger) Debug(msg string, tags ...tag.Tag) { l.out.Debug(msg, attributes(tags)...) }

// Info logs at the level of that name.
func (l logger) Info(msg string, tags ...tag.Tag) { l.out.Info(msg, attributes(tags)...) }

// Warn logs at the level of that name.
func (l logger) Warn(msg string, tags ...tag.Tag) { l.out.Warn(msg, attributes(tags)...) }

// Error logs at the level of that name.
func (l logger) Error(msg string, tags ...tag.Tag) { l.out.Error(msg, attributes(tags)...) }

// DPanic logs an error: it stands for a panic in the server's own development only.
func (l logger) DPanic(msg string, tags ...tag.Tag) { l.out.Error(msg, attributes(tags)...) }

// Panic reports the failure and ends the calling goroutine.
func (l logger) Panic(msg string, tags ...tag.Tag) { l.giveUp(msg, tags) }

// Fatal reports the failure and ends the calling goroutine.
func (l logger) Fatal(msg string, tags ...tag.Tag) { l.giveUp(msg, tags) }

func (l logger) giveUp(msg string, tags []tag.Tag) {
	l.out.Error(msg, attributes(tags)...)
	err := errors.New(msg)
	for _, t := range tags {
		// Value gives an error's text only.
		if z, ok := t.(tag.ZapTag); ok {
			if cause, ok := z.Field().Interface.(error); ok {
				err = fmt.Errorf("%s: %w", msg, cause)
			}
		}
	}
	report(l.failed, err)
	runtime.Goexit()
}

// report keeps the first failure; the ones that follow are its consequences.
func report(failed chan<- error, err error) {
	select {
	case failed <- err:
	default:
	}
}
