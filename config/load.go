package config

import (
	"fmt"
	"io"
	"os"
	"reflect"

	"github.com/tributary-lake/tributary/config/document"
)

// ParseJob reads a job file, YAML or JSON; name is the file's name in problems and may be empty. It is a pure function
// of its arguments. The error, if any, is Problems: all of them.
func ParseJob(name string, data []byte) (*Job, error) {
	r := &report{file: name}
	return bindJob(r, readNode(r, data))
}

// LoadJob reads a job file and applies the environment's overrides: TRIBUTARY_ and the key's path in capitals, such as
// TRIBUTARY_RUN_PARALLELISM, for every scalar key outside lists. The error is Problems when the job is at fault, else it
// wraps the one of reading the file.
func LoadJob(path string) (*Job, error) {
	data, err := readLimited(path, document.MaxSize)
	if err != nil {
		return nil, fmt.Errorf("read job file: %w", err)
	}
	r := &report{file: path}
	root := readNode(r, data)
	if root != nil {
		if err := override(r, root, reflect.TypeFor[Job]()); err != nil {
			return nil, err
		}
	}
	return bindJob(r, root)
}

// readLimited reads a file up to one byte more than limit, which is enough to see that it is too large.
func readLimited(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	// Closing a file that was only read loses nothing.
	_ = file.Close()
	if err != nil {
		return nil, err
	}
	return data, nil
}

// JSON is the job in canonical form: all keys with their values, in a fixed order. Secrets stay references. ParseJob of
// it gives an equal job.
func (j *Job) JSON() ([]byte, error) { return appendValue(nil, reflect.ValueOf(j).Elem()), nil }

// MarshalJSON is JSON.
func (j *Job) MarshalJSON() ([]byte, error) { return j.JSON() }

// UnmarshalJSON is ParseJob without a name.
func (j *Job) UnmarshalJSON(data []byte) error {
	parsed, err := ParseJob("", data)
	if err != nil {
		return err
	}
	*j = *parsed
	return nil
}

// readNode parses a file of either format; nil means that the problems say why there is nothing.
func readNode(r *report, data []byte) *document.Node {
	root, found := document.Read(r.file, data)
	for _, f := range found {
		r.add(Problem{Line: f.Line, Column: f.Column, Path: f.Path, Message: f.Message, Hint: f.Hint})
	}
	return root
}

func bindJob(r *report, root *document.Node) (*Job, error) {
	job := new(Job)
	if root != nil {
		b := newBinder(r, notYetRules())
		b.bindStruct(reflect.ValueOf(job).Elem(), root, document.Place{})
		for i := range job.Tables {
			if t := &job.Tables[i]; t.Target.Table == "" {
				t.Target.Table = t.Name
			}
		}
		b.checkJob(job)
	}
	if len(r.problems) > 0 {
		return nil, r.problems.sorted()
	}
	return job, nil
}
