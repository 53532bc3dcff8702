package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// rule is what text under some key must look like. The pattern also stands in the published schema; more is what a
// pattern cannot say.
type rule struct {
	pattern string
	message string
	hint    string
	longest int // characters; 0 is no limit
	more    func(text string) (message, hint string)
	shape   *regexp.Regexp // pattern, compiled
}

// check is the first fault of a text, or "".
func (r rule) check(text string) (message, hint string) {
	if r.pattern == "" {
		return "", ""
	}
	if r.longest > 0 && utf8.RuneCountInString(text) > r.longest {
		return fmt.Sprintf("has more than %d characters", r.longest), ""
	}
	if !r.shape.MatchString(text) {
		if text == "" {
			return "is empty", r.hint
		}
		return fmt.Sprintf("%q %s", text, r.message), r.hint
	}
	if r.more != nil {
		return r.more(text)
	}
	return "", ""
}

// rules are the rules that a rule tag can name. They are made once and never change.
var rules = sync.OnceValue(func() map[string]rule {
	all := ruleList()
	for name, r := range all {
		r.shape = regexp.MustCompile(r.pattern)
		all[name] = r
	}
	return all
})

func ruleList() map[string]rule {
	return map[string]rule{
		// Names become folders, workflow ids and Paimon users, on every store and system.
		"name": {
			pattern: `^[\p{L}\p{N}_][\p{L}\p{N}_.-]*$`, longest: 100,
			message: "cannot be a name", hint: "use letters, digits, _ - and . (names become folders)", more: checkName,
		},
		// A job's name begins the ids of its runs, which travel in headers that take ASCII alone.
		"job": {
			pattern: `^[A-Za-z0-9][A-Za-z0-9_.-]*$`, longest: 100,
			message: "cannot be a job's name", hint: "use ASCII letters, digits, _ - and ., a letter or digit first (it begins the ids of runs)",
			more: checkName,
		},
		"column": {
			pattern: `^[^\x00-\x20\x7f]([^\x00-\x1f\x7f]*[^\x00-\x20\x7f])?$`, longest: 64,
			message: "cannot be a column's name", hint: "a name has no control characters and no blank at its ends",
		},
		"text": {pattern: `^[^\x00]+$`, message: "holds a NUL character"},
		"host": {
			pattern: `^[A-Za-z0-9_.:%-]+$`, message: "is not a host name or address", hint: "write the host alone; the port has its own key",
			more: checkHost,
		},
		"address": {
			pattern: `^(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9_.-]+):[0-9]{1,5}$`, message: "is not host:port",
			hint: "such as 127.0.0.1:7233", more: checkPort,
		},
		"listen": {
			pattern: `^(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9_.-]*):[0-9]{1,5}$`, message: "is not host:port",
			hint: "such as 127.0.0.1:9464", more: checkPort,
		},
		"store": {
			pattern: `^(/|(file|s3|hdfs)://)`, message: "is not a place for a warehouse",
			hint: "write file:///path, s3://bucket/path, hdfs://host/path or an absolute path", more: checkStore,
		},
		"endpoint": {
			pattern: `^https?://`, message: "is not an endpoint", hint: endpointHint, more: checkEndpoint,
		},
		"thrift": {pattern: `^thrift://[^/\s]+$`, message: "is not a metastore's address", hint: "such as thrift://host:9083"},
	}
}

func checkName(text string) (message, hint string) {
	if strings.Contains(text, "..") {
		return fmt.Sprintf("%q holds ..", text), "names become folders"
	}
	return "", ""
}

func checkHost(text string) (message, hint string) {
	if strings.Contains(text, ":") {
		if _, err := netip.ParseAddr(text); err != nil {
			return fmt.Sprintf("%q is not a host name or address", text), "write the host alone; the port has its own key"
		}
	}
	return "", ""
}

func checkPort(text string) (message, hint string) {
	port, err := strconv.Atoi(text[strings.LastIndexByte(text, ':')+1:])
	if err != nil || port > 65535 {
		return fmt.Sprintf("%q has a port above 65535", text), ""
	}
	return "", ""
}

// checkStore checks a warehouse's or a staging root's address. Nothing of a refused address is quoted once it may hold
// a key.
func checkStore(text string) (message, hint string) {
	const keysHint = "keys belong into the environment or a profile"
	if strings.ContainsAny(text, "\x00\n\r") {
		return "holds control characters", ""
	}
	if strings.HasPrefix(text, "/") {
		return checkDots(text)
	}
	parsed, err := url.Parse(text)
	switch {
	case err != nil:
		return "is not a URL", "write file:///path or an absolute path"
	case parsed.User != nil:
		return "the address holds a user or key", keysHint
	case parsed.RawQuery != "" || parsed.Fragment != "":
		return "the address holds a query or fragment", keysHint
	case parsed.Scheme == "file" && parsed.Host != "":
		return fmt.Sprintf("%q names a host", text), "local paths have three slashes: file:///" + parsed.Host + parsed.Path
	case parsed.Scheme == "file" && parsed.Path == "":
		return fmt.Sprintf("%q has no path", text), "such as file:///var/lib/tributary/lake"
	case parsed.Scheme != "file" && parsed.Host == "":
		return fmt.Sprintf("%q has no host or bucket", text), ""
	}
	return checkDots(parsed.Path)
}

const endpointHint = "such as https://s3.example.com or http://127.0.0.1:9000"

// checkEndpoint checks the address of a service. As with stores, nothing is quoted that may hold a key.
func checkEndpoint(text string) (message, hint string) {
	parsed, err := url.Parse(text)
	switch {
	case err != nil || parsed.Host == "":
		return "is not an endpoint", endpointHint
	case parsed.User != nil:
		return "the address holds a user or key", "write access_key_id and secret_access_key"
	case parsed.RawQuery != "" || parsed.Fragment != "" || strings.Trim(parsed.Path, "/") != "":
		return "an endpoint has no path", endpointHint
	}
	return "", ""
}

// checkDots refuses paths that climb: what is written, listed and deleted must lie where it seems to.
func checkDots(path string) (message, hint string) {
	if slices.Contains(strings.Split(path, "/"), "..") {
		return fmt.Sprintf("%q holds ..", path), "write the path itself"
	}
	return "", ""
}
