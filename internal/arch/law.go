package arch

// layer is a set of packages that may import the layers below and, among themselves, what within says. A package has
// no right to what lies below or above it in the tree by its name alone.
type layer struct {
	name string
	// why is what the failing test tells.
	why string
	// packages below the module path; a trailing /... takes in what lies below.
	packages []string
	// within lists the imports allowed inside the layer, importer first.
	within [][2]string
}

// layers from the lowest up. A package imports only lower layers.
func layers() []layer {
	return []layer{
		{
			name: "0", why: "the vocabulary of rows, schemas, files and configuration knows nobody",
			packages: []string{"lake/schema", "lake/row", "lake/fileio", "lake/fileio/fileiotest", "lake/fileio/faultio", "lake/fileio/window", "config", "config/document", "config/mask"},
			within: [][2]string{
				{"lake/row", "lake/schema"},
				{"lake/fileio/fileiotest", "lake/fileio"},
				{"lake/fileio/faultio", "lake/fileio"},
				{"config", "config/document"},
				{"config", "config/mask"},
			},
		},
		{
			name: "1", why: "files of a table, the ledger and the source's and sink's vocabulary know only layer 0",
			packages: []string{
				"lake/datafile", "lake/datafile/filereader", "lake/mergetree", "lake/mergetree/block", "lake/keydiff", "lake/spill", "lake/deletion", "lake/predicate", "lake/manifest", "lake/manifest/avro",
				"lake/snapshot", "lake/bucket", "lake/partition", "source", "source/tally", "ledger",
				"ledger/twophase", "sink", "sink/settlement", "sink/swap",
			},
			within: [][2]string{
				{"lake/datafile", "lake/manifest"},
				{"lake/mergetree", "lake/datafile"},
				{"lake/mergetree", "lake/manifest"},
				{"lake/mergetree", "lake/mergetree/block"},
				{"lake/keydiff", "lake/mergetree"},
				{"lake/spill", "lake/mergetree/block"},
				{"lake/deletion", "lake/manifest"},
				{"lake/manifest", "lake/manifest/avro"},
				{"source", "source/tally"},
				{"ledger", "source"},
				{"ledger/twophase", "ledger"},
				{"sink/settlement", "ledger"},
				{"sink/settlement", "sink"},
			},
		},
		{
			name: "2", why: "lake is a Paimon library that others could use: it knows neither MySQL nor Temporal nor configuration",
			packages: []string{"lake", "lake/commit", "lake/catalog", "lake/catalog/catalogtest", "lake/message", "lake/expire", "lake/orphan", "lake/compact", "lake/shuffle"},
			within: [][2]string{
				{"lake/commit", "lake/message"},
				{"lake/catalog/catalogtest", "lake/catalog"},
				{"lake", "lake/commit"},
				{"lake", "lake/catalog"},
				{"lake", "lake/message"},
				{"lake/compact", "lake"},
				{"lake/compact", "lake/commit"},
				{"lake/compact", "lake/message"},
				{"lake/expire", "lake/commit"},
				{"lake/shuffle", "lake"},
				{"lake/orphan", "lake/commit"},
			},
		},
		{
			name: "3", why: "activities bring Temporal and the domain together through interfaces that they declare",
			packages: []string{"activities", "activities/comparing", "activities/deletes", "activities/dryrun", "activities/explanation", "activities/fit", "activities/merging", "activities/notes", "activities/budget", "activities/pipe", "activities/sink", "activities/units", "activities/verify", "activities/upkeep", "activities/watermark"},
			within: [][2]string{
				{"activities", "activities/budget"},
				{"activities", "activities/deletes"},
				{"activities/merging", "activities/deletes"},
				{"activities/sink", "activities/deletes"},
				{"activities/pipe", "activities/budget"},
				{"activities/comparing", "activities"},
				{"activities/comparing", "activities/budget"},
				{"activities/comparing", "activities/fit"},
				{"activities/upkeep", "activities"},
				{"activities/upkeep", "activities/budget"},
				{"activities", "activities/dryrun"},
				{"activities", "activities/explanation"},
				{"activities", "activities/fit"},
				{"activities", "activities/merging"},
				{"activities/merging", "activities/sink"},
				{"activities", "activities/notes"},
				{"activities", "activities/pipe"},
				{"activities", "activities/sink"},
				{"activities", "activities/units"},
				{"activities", "activities/verify"},
				{"activities/verify", "activities/merging"},
				{"activities/verify", "activities/sink"},
				{"activities", "activities/watermark"},
				{"activities/explanation", "activities/dryrun"},
				{"activities/sink", "activities/pipe"},
			},
		},
		{
			name: "4", why: "workflows are deterministic: they know activities' names and structs, never the reverse",
			packages: []string{"workflows"},
		},
		{
			name: "5", why: "internal/app is the only place where configuration becomes objects and drivers are chosen",
			packages: []string{"internal/app"},
		},
		{
			name: "6", why: "mains read configuration and call internal/app",
			packages: []string{"worker", "starter", "starter/...", "e2e/...", "examples/..."},
			within:   [][2]string{{"starter", "starter/cli"}, {"starter", "starter/page"}, {"starter", "starter/planpage"}, {"starter", "starter/verifypage"}, {"starter/planpage", "starter/page"}},
		},
	}
}

// rim packages are drivers and their parts: each imports the core that it serves and the parts that it names here. Only
// internal/app and tests import a driver, only the driver its parts.
func rim() map[string][]string {
	return map[string][]string{
		"source/mysql":            {"source", "lake/row", "lake/schema", "source/mysql/condition", "source/mysql/definition", "source/mysql/key", "source/mysql/lag", "source/mysql/logged", "source/mysql/mapping", "source/mysql/moment", "source/mysql/tally", "source/mysql/userlock", "source/mysql/watermark", "source/mysql/wire", "source/tally"},
		"source/mysql/userlock":   {"source"},                     // it is given sessions too
		"source/mysql/moment":     {"source", "source/mysql/key"}, // it is given sessions, so that how they open together can be tried without rows
		"source/mysql/watermark":  {"source", "source/mysql/definition", "source/mysql/key"},
		"source/mysql/mapping":    {"source", "lake/schema", "source/mysql/definition"},
		"source/mysql/wire":       {"source", "lake/row", "lake/schema", "source/mysql/definition", "source/mysql/mapping"},
		"source/mysql/tally":      {"source", "source/tally", "lake/schema", "source/mysql/definition"},
		"source/mysql/key":        {"source", "source/mysql/definition"},
		"source/mysql/condition":  {"source"},
		"source/mysql/lag":        {},
		"source/mysql/logged":     {"source", "source/mysql/moment"}, // it is given connections
		"source/mysql/definition": {},
		"sink/starrocks":          {"sink", "sink/swap", "lake/row", "sink/starrocks/ddl", "sink/starrocks/encode"},
		"sink/starrocks/ddl":      {"sink", "lake/schema"},
		"sink/starrocks/encode":   {"lake/row", "lake/schema"},
		"lake/catalog/hive":       {"lake/catalog", "lake/fileio", "lake/partition", "lake/schema"},
		"lake/fileio/s3":          {"lake/fileio", "lake/fileio/window"},
		"lake/fileio/hdfs":        {"lake/fileio", "lake/fileio/window"},
	}
}

// configImporters are the packages beside config's own tests that may import it.
func configImporters() []string {
	return []string{"internal/app", "worker", "starter", "starter/cli", "e2e"}
}

// free packages are test support: they may import anything and only tests import them.
func free() []string {
	return []string{"internal/arch", "internal/testenv", "internal/testenv/...", "e2e", "e2e/..."}
}
