package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/tributary-lake/tributary/config/document"
)

// Worker are the settings of a worker process.
type Worker struct {
	Temporal  Temporal  `key:"temporal" doc:"Where Temporal is."`
	Listen    string    `key:"listen" default:"127.0.0.1:9464" rule:"listen" doc:"Address of /healthz and /metrics; port 0 takes a free one."`
	Memory    Bytes     `key:"memory" default:"1GiB" min:"67108864" doc:"Memory that the worker may use."`
	Slots     int       `key:"slots" default:"0" min:"0" max:"1000" doc:"Activities at once; 0 derives it from memory."`
	Spill     string    `key:"spill" default:"" doc:"Folder on a local disk for rows that do not fit into memory; empty is the system's for temporary files."`
	LogLevel  LogLevel  `key:"log_level" default:"info" doc:"Least level that is logged."`
	LogFormat LogFormat `key:"log_format" default:"text" doc:"Form of log lines."`
}

// Starter are the settings of a starter command.
type Starter struct {
	Temporal Temporal `key:"temporal" doc:"Where Temporal is."`
}

// LogLevel is the least level that is logged.
type LogLevel string

// The levels, as log/slog has them.
const (
	LogDebug LogLevel = "debug"
	LogInfo  LogLevel = "info"
	LogWarn  LogLevel = "warn"
	LogError LogLevel = "error"
)

func (LogLevel) allowed() []string {
	return []string{string(LogInfo), string(LogDebug), string(LogWarn), string(LogError)}
}

// LogFormat is the form of log lines.
type LogFormat string

// The forms.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

func (LogFormat) allowed() []string { return []string{string(LogText), string(LogJSON)} }

// AddWorkerFlags defines a flag for each of the worker's settings: --temporal-address, --memory and so on.
func AddWorkerFlags(flags *pflag.FlagSet) { addFlags(flags, reflect.TypeFor[Worker]()) }

// AddStarterFlags defines a flag for each of the starter's settings.
func AddStarterFlags(flags *pflag.FlagSet) { addFlags(flags, reflect.TypeFor[Starter]()) }

// LoadWorker gathers the worker's settings: a flag before the environment (TRIBUTARY_TEMPORAL_ADDRESS), that before the
// file, that before the defaults. flags may be nil, and file empty. The error is Problems when a setting is at fault.
func LoadWorker(flags *pflag.FlagSet, file string) (*Worker, error) {
	r := &report{file: file}
	root := &document.Node{Kind: document.Map}
	if file != "" {
		data, err := readLimited(file, document.MaxSize)
		if err != nil {
			return nil, fmt.Errorf("read settings: %w", err)
		}
		root = readNode(r, data)
	}
	worker := new(Worker)
	if err := bindSettings(r, reflect.ValueOf(worker).Elem(), root, flags); err != nil {
		return nil, err
	}
	return worker, nil
}

// LoadStarter gathers the starter's settings: a flag before the environment, that before the job, that before the
// defaults. flags and job may be nil.
func LoadStarter(flags *pflag.FlagSet, job *Job) (*Starter, error) {
	r := &report{}
	root := &document.Node{Kind: document.Map}
	if job != nil {
		wanted := Starter{Temporal: job.Temporal}
		root = readNode(r, appendValue(nil, reflect.ValueOf(wanted)))
	}
	starter := new(Starter)
	if err := bindSettings(r, reflect.ValueOf(starter).Elem(), root, flags); err != nil {
		return nil, err
	}
	return starter, nil
}

// addFlags defines a flag for each scalar key of t. A flag has no default of its own, so that one which is not given
// changes nothing; its help names the default.
func addFlags(flags *pflag.FlagSet, t reflect.Type) {
	for _, path := range scalarPaths(t) {
		f := fieldAt(t, path)
		help := strings.TrimSuffix(f.doc, ".")
		if f.fallback != "" {
			help += " (default " + f.fallback + ")"
		}
		flags.String(flagName(path), "", help)
	}
}

func flagName(path string) string { return strings.NewReplacer(".", "-", "_", "-").Replace(path) }

// fieldAt is the declaration of a key.
func fieldAt(t reflect.Type, path string) field {
	head, rest, nested := strings.Cut(path, ".")
	for _, f := range fieldsOf(t) {
		if f.key != head {
			continue
		}
		if nested {
			return fieldAt(t.Field(f.index).Type, rest)
		}
		return f
	}
	return field{}
}

// bindSettings binds target to root with the environment and the flags laid over it.
func bindSettings(r *report, target reflect.Value, root *document.Node, flags *pflag.FlagSet) error {
	if root != nil {
		if err := override(r, root, target.Type()); err != nil {
			return err
		}
		if err := overrideByFlags(root, target.Type(), flags); err != nil {
			return err
		}
		newBinder(r, nil).bindStruct(target, root, document.Place{})
	}
	if len(r.problems) > 0 {
		return r.problems.sorted()
	}
	return nil
}

// overrideByFlags sets the keys whose flags were given.
func overrideByFlags(root *document.Node, t reflect.Type, flags *pflag.FlagSet) error {
	if flags == nil {
		return nil
	}
	v := viper.New()
	for _, path := range scalarPaths(t) {
		flag := flags.Lookup(flagName(path))
		if flag == nil || !flag.Changed {
			continue
		}
		if err := v.BindPFlag(path, flag); err != nil {
			return fmt.Errorf("bind flag --%s: %w", flag.Name, err)
		}
		root.Set(strings.Split(path, "."), &document.Node{Kind: document.Untyped, Text: v.GetString(path), Origin: "flag --" + flag.Name})
	}
	return nil
}
