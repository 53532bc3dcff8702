package app

import (
	"runtime/debug"
	"strings"
	"time"
)

// drain is how long a stopping worker lets its activities go on.
const drain = 20 * time.Second

// version is the release in the making.
const version = "0.1.0"

// Version names this build: the release, and the commit where the build knows it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return version + "+" + strings.ToLower(s.Value[:12])
		}
	}
	return version
}
