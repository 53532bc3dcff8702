package mysql_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/tributary-lake/tributary/internal/testenv"
)

// shape is a table whose key is to be cut: the definition of its columns and keys, and values for them.
type shape struct {
	name string
	// create is what stands in the brackets of CREATE TABLE, beside n; options stand behind them.
	create, options string
	// columns that values are for.
	columns string
	// column is split.column; empty for auto.
	column string
	// value is the SQL of a row's values. Those that repeat a unique key are not inserted.
	value func(r *rand.Rand) string
	// whole tells that the table cannot be cut.
	whole bool
	// loose tells that values may be in more rows than a split should have.
	loose bool
	// only on these servers; empty for all.
	only []testenv.Flavor
}

// Letters that collations treat unlike their bytes: of both cases, with accents, that expand, ignorable, quotes, commas.
const (
	latinLetters  = "aAbBcChHlLzZ09éÉèñäÄßöæ ',\"\\%_-"
	allLetters    = latinLetters + "ıİſøŁłчЧ中文字あアㄱ가\u200d\u0301😀😁👩"
	gbkLetters    = "aAbBzZ09 ',\"\\%_中文字號丂錒"
	kanaLetters   = "aAbBzZ09 ',\"\\あアｱ漢字表ソ"
	thaiLetters   = "aAbB09 กขเแไะา่้"
	centralLetter = "aAbBcChHsSzZ09áÁčČřžŁł ',"
)

// text is up to most letters, now and then with spaces at the end.
func letters(r *rand.Rand, from string, most int) string {
	all := []rune(from)
	n := r.IntN(most + 1)
	out := make([]rune, n)
	for i := range out {
		out[i] = all[r.IntN(len(all))]
	}
	text := string(out)
	if n > 0 && n < most && r.IntN(8) == 0 {
		text = strings.TrimRight(text, " ") + " "
	}
	return fmt.Sprintf("_utf8mb4 X'%x'", text)
}

// textShape is a key of one text column.
func textShape(name, kind, charset, collation, alphabet string, only ...testenv.Flavor) shape {
	return shape{
		name: name, columns: "k", only: only,
		create: fmt.Sprintf("k %s CHARACTER SET %s COLLATE %s NOT NULL PRIMARY KEY", kind, charset, collation),
		value:  func(r *rand.Rand) string { return letters(r, alphabet, 6) },
	}
}

// oneColumn is a key of one column.
func oneColumn(name, kind string, value func(r *rand.Rand) string) shape {
	return shape{name: name, columns: "k", create: "k " + kind + " NOT NULL PRIMARY KEY", value: value}
}

func randomBytes(r *rand.Rand, most int) string {
	b := make([]byte, r.IntN(most+1))
	for i := range b {
		b[i] = []byte{0, 1, ' ', '\'', '\\', 'a', 'A', 0x7f, 0x80, 0xff}[r.IntN(10)]
	}
	return fmt.Sprintf("X'%x'", b)
}

func randomUUID(r *rand.Rand) string {
	a, b := r.Uint64(), r.Uint64()
	return fmt.Sprintf("'%08x-%04x-%04x-%04x-%012x'", a>>32, a>>16&0xffff, a&0xffff, b>>48, b&(1<<48-1))
}

func digits(r *rand.Rand, n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte('0' + r.IntN(10))
	}
	return string(out)
}

// randomDate has years at both ends, zero dates and dates that do not exist.
func randomDate(r *rand.Rand) string {
	switch r.IntN(15) {
	case 0:
		return "0000-00-00"
	case 1:
		return fmt.Sprintf("%04d-%02d-00", 1990+r.IntN(40), r.IntN(13))
	case 2:
		return fmt.Sprintf("%04d-%02d-31", 1990+r.IntN(40), []int{2, 4, 6, 9, 11}[r.IntN(5)])
	case 3:
		return fmt.Sprintf("%04d-12-31", []int{0, 1, 1000, 9999}[r.IntN(4)])
	}
	return fmt.Sprintf("%04d-%02d-%02d", 1990+r.IntN(40), 1+r.IntN(12), 1+r.IntN(28))
}

func clock(r *rand.Rand) string {
	return fmt.Sprintf("%02d:%02d:%02d", r.IntN(24), r.IntN(60), r.IntN(60))
}

func fraction(r *rand.Rand) string {
	if r.IntN(3) == 0 {
		return "" // many at the full second
	}
	return "." + digits(r, 6)
}

func integerShapes() []shape {
	snowflake := func(r *rand.Rand) string { return fmt.Sprint(r.Int64N(1e18)) }
	return []shape{
		oneColumn("int_dense", "INT", func(r *rand.Rand) string { return fmt.Sprint(r.IntN(4000) - 1000) }),
		oneColumn("int_skewed", "INT", func(r *rand.Rand) string { return fmt.Sprint(int64(math.Exp(r.Float64() * 21))) }),
		oneColumn("bigint_sparse", "BIGINT", snowflake),
		oneColumn("bigint_clusters", "BIGINT", func(r *rand.Rand) string {
			return fmt.Sprint([]int64{math.MinInt64, -1000, 1 << 40, math.MaxInt64 - 1500}[r.IntN(4)] + r.Int64N(1500))
		}),
		oneColumn("bigint_unsigned", "BIGINT UNSIGNED", func(r *rand.Rand) string {
			return fmt.Sprint([]uint64{0, 1<<63 - 700, math.MaxUint64 - 1400}[r.IntN(3)] + r.Uint64N(1401))
		}),
		oneColumn("small_int", "SMALLINT", func(r *rand.Rand) string { return fmt.Sprint(r.IntN(65536) - 32768) }),
		oneColumn("int_zerofill", "INT(10) UNSIGNED ZEROFILL", func(r *rand.Rand) string { return fmt.Sprint(r.Uint32()) }),
		oneColumn("decimal_32_0", "DECIMAL(32,0)", func(r *rand.Rand) string { return digits(r, 20) }),
		oneColumn("decimal_signed", "DECIMAL(30,10)", func(r *rand.Rand) string {
			return []string{"", "-"}[r.IntN(2)] + digits(r, 1+r.IntN(20)) + "." + digits(r, 10)
		}),
		oneColumn("decimal_65_30", "DECIMAL(65,30) ZEROFILL", func(r *rand.Rand) string { return digits(r, 35) + "." + digits(r, 30) }),
		{
			name: "unique_without_primary", columns: "t, b, k", create: "t VARCHAR(20) NOT NULL, b BIGINT NOT NULL, k BIGINT NOT NULL, UNIQUE (t), UNIQUE (b, k), UNIQUE (k)",
			value: func(r *rand.Rand) string { k := snowflake(r); return "'" + k + "', 1, " + k },
		},
		{name: "forced_repeated", columns: "k", column: "K", create: "k INT NOT NULL, KEY (k)", loose: true, value: func(r *rand.Rand) string { return fmt.Sprint(r.IntN(8) * r.IntN(90)) }},
		{name: "forced_without_index", columns: "k", column: "k", create: "k INT NOT NULL", loose: true, value: func(r *rand.Rand) string { return fmt.Sprint(r.IntN(30) * r.IntN(90)) }},
		{name: "forced_nullable", columns: "k", column: "k", create: "k INT NULL, UNIQUE KEY (k)", loose: true, value: func(r *rand.Rand) string {
			if r.IntN(3) == 0 {
				return "NULL"
			}
			return fmt.Sprint(r.IntN(1e6))
		}},
	}
}

func textShapes() []shape {
	return []shape{
		textShape("general_ci", "VARCHAR(36)", "utf8mb4", "utf8mb4_general_ci", allLetters),
		textShape("unicode_ci", "VARCHAR(36)", "utf8mb4", "utf8mb4_unicode_ci", allLetters),
		textShape("unicode_520_ci", "VARCHAR(36)", "utf8mb4", "utf8mb4_unicode_520_ci", allLetters),
		textShape("bin", "VARCHAR(36)", "utf8mb4", "utf8mb4_bin", allLetters),
		textShape("spanish2_ci", "VARCHAR(36)", "utf8mb4", "utf8mb4_spanish2_ci", latinLetters),
		textShape("czech_ci", "VARCHAR(36)", "utf8mb4", "utf8mb4_czech_ci", centralLetter),
		textShape("char_padded", "CHAR(8)", "utf8mb4", "utf8mb4_general_ci", allLetters),
		textShape("no_pad_80", "VARCHAR(36)", "utf8mb4", "utf8mb4_0900_ai_ci", allLetters, testenv.FlavorMySQL80),
		textShape("no_pad_char_80", "CHAR(8)", "utf8mb4", "utf8mb4_0900_as_cs", allLetters, testenv.FlavorMySQL80),
		textShape("no_pad_maria", "VARCHAR(36)", "utf8mb4", "utf8mb4_unicode_520_nopad_ci", allLetters, testenv.FlavorMariaDB),
		textShape("no_pad_char_maria", "CHAR(8)", "utf8mb4", "utf8mb4_nopad_bin", allLetters, testenv.FlavorMariaDB),
		textShape("uca1400_maria", "VARCHAR(36)", "utf8mb4", "utf8mb4_uca1400_ai_ci", allLetters, testenv.FlavorMariaDB),
		textShape("utf8mb3", "VARCHAR(36)", "utf8", "utf8_unicode_ci", allLetters),
		textShape("latin1", "VARCHAR(36)", "latin1", "latin1_swedish_ci", latinLetters),
		textShape("latin1_german2", "VARCHAR(36)", "latin1", "latin1_german2_ci", latinLetters),
		textShape("latin2_czech", "VARCHAR(36)", "latin2", "latin2_czech_cs", centralLetter),
		textShape("gbk", "VARCHAR(36)", "gbk", "gbk_chinese_ci", gbkLetters),
		textShape("sjis", "VARCHAR(36)", "sjis", "sjis_japanese_ci", kanaLetters),
		textShape("tis620", "VARCHAR(36)", "tis620", "tis620_thai_ci", thaiLetters),
		textShape("utf16", "VARCHAR(36)", "utf16", "utf16_general_ci", allLetters),
		textShape("utf32", "CHAR(9)", "utf32", "utf32_unicode_ci", allLetters),
		textShape("ucs2", "VARCHAR(36)", "ucs2", "ucs2_general_ci", allLetters),
		textShape("uuid_text", "CHAR(36)", "ascii", "ascii_general_ci", "0123456789abcdefABCDEF"),
		{
			name: "myisam", columns: "k", options: "ENGINE=MyISAM", create: "k VARCHAR(36) COLLATE utf8mb4_general_ci NOT NULL PRIMARY KEY",
			value: func(r *rand.Rand) string { return letters(r, allLetters, 6) },
		},
		{
			name: "forced_text_without_index", columns: "k", column: "k", create: "k VARCHAR(9) COLLATE utf8mb4_general_ci", loose: true,
			value: func(r *rand.Rand) string { return []string{"NULL", letters(r, allLetters, 2)}[r.IntN(2)] },
		},
		{
			name: "forced_text_index", columns: "k", column: "k", create: "k VARCHAR(9) CHARACTER SET latin1, KEY (k)", loose: true,
			value: func(r *rand.Rand) string { return []string{"NULL", letters(r, latinLetters, 2)}[r.IntN(2)] },
		},
	}
}

func otherShapes() []shape {
	quoted := func(text string) string { return "'" + text + "'" }
	maria := []testenv.Flavor{testenv.FlavorMariaDB}
	shapes := []shape{
		oneColumn("bytes", "VARBINARY(20)", func(r *rand.Rand) string { return randomBytes(r, 8) }),
		oneColumn("binary_16", "BINARY(16)", func(r *rand.Rand) string { return fmt.Sprintf("X'%016x%016x'", r.Uint64(), r.Uint64()) }),
		oneColumn("binary_short", "BINARY(8)", func(r *rand.Rand) string { return randomBytes(r, 7) }),
		oneColumn("day", "DATE", func(r *rand.Rand) string { return quoted(randomDate(r)) }),
		oneColumn("day_and_time", "DATETIME", func(r *rand.Rand) string { return quoted(randomDate(r) + " " + clock(r)) }),
		oneColumn("datetime_6", "DATETIME(6)", func(r *rand.Rand) string { return quoted(randomDate(r) + " " + clock(r) + fraction(r)) }),
		oneColumn("timestamp_3", "TIMESTAMP(3)", func(r *rand.Rand) string {
			return quoted(fmt.Sprintf("%04d-03-%02d %s%s", 1971+r.IntN(60), 1+r.IntN(28), clock(r), fraction(r)))
		}),
		oneColumn("timestamp_6", "TIMESTAMP(6)", func(r *rand.Rand) string { return quoted("2020-03-29 " + clock(r) + fraction(r)) }),
		oneColumn("time_6", "TIME(6)", func(r *rand.Rand) string {
			return quoted([]string{"", "-"}[r.IntN(2)] + fmt.Sprintf("%d:%02d:%02d", r.IntN(838), r.IntN(60), r.IntN(60)) + fraction(r))
		}),
		oneColumn("uuid_maria", "UUID", randomUUID),
		oneColumn("inet6_maria", "INET6", func(r *rand.Rand) string {
			if r.IntN(2) == 0 {
				return quoted(fmt.Sprintf("::ffff:%d.%d.%d.%d", r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(256)))
			}
			return quoted(fmt.Sprintf("%x::%x", r.IntN(65536), r.IntN(65536)))
		}),
		{name: "year_int", columns: "y, k", create: "y YEAR NOT NULL, k INT NOT NULL, PRIMARY KEY (y, k)", value: func(r *rand.Rand) string {
			return fmt.Sprintf("%d, %d", []int{0, 1901, 1969, 1970, 2000, 2001, 2069, 2155}[r.IntN(8)], r.IntN(1000))
		}},
		{name: "int_int", columns: "a, b", create: "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a, b)", value: func(r *rand.Rand) string {
			return fmt.Sprintf("%d, %d", max(1, r.IntN(200)-150), r.IntN(3000)-1500)
		}},
		{name: "order_of_index", columns: "a, b", create: "a INT NOT NULL, b VARCHAR(9) NOT NULL, PRIMARY KEY (b, a)", value: func(r *rand.Rand) string {
			return fmt.Sprintf("%d, %s", r.IntN(3000), letters(r, "aAbBéÉ", 1))
		}},
		{name: "few_first", columns: "a, b, c", create: "a VARCHAR(64) NOT NULL, b VARCHAR(64) NOT NULL, c DATETIME(6) NOT NULL, PRIMARY KEY (a, b, c)", value: func(r *rand.Rand) string {
			return quoted([]string{"x", "Y"}[r.IntN(2)]) + ", " + letters(r, latinLetters, 1) + ", " + quoted("2024-01-01 "+clock(r)+fraction(r))
		}},
		{name: "four_columns", columns: "a, b, c, d", create: "a TINYINT NOT NULL, b DATE NOT NULL, c CHAR(4) CHARACTER SET gbk NOT NULL, d BIGINT UNSIGNED NOT NULL, PRIMARY KEY (a, b, c, d)", value: func(r *rand.Rand) string {
			return fmt.Sprintf("%d, '2024-02-%02d', %s, %d", r.IntN(3)-1, 28+r.IntN(2), letters(r, gbkLetters, 2), math.MaxUint64-r.Uint64N(50))
		}},
		{name: "mixed_bytes", columns: "a, b, c", create: "a VARCHAR(9) CHARACTER SET utf16 NOT NULL, b DECIMAL(20,5) NOT NULL, c VARBINARY(9) NOT NULL, PRIMARY KEY (a, b, c)", value: func(r *rand.Rand) string {
			return letters(r, allLetters, 1) + ", -1." + digits(r, 1) + ", " + randomBytes(r, 4)
		}},
		{name: "unique_text", columns: "k, b", create: "k VARCHAR(40) COLLATE utf8mb4_unicode_ci NOT NULL, b INT, UNIQUE (b), UNIQUE (k)", value: func(r *rand.Rand) string {
			return letters(r, allLetters, 6) + ", NULL"
		}},
		{name: "before_an_enum", columns: "a, e", create: "a INT NOT NULL, e ENUM('z','a') NOT NULL, PRIMARY KEY (a, e)", value: func(r *rand.Rand) string {
			return fmt.Sprintf("%d, %d", r.IntN(3000), 1+r.IntN(2))
		}},
		{name: "before_a_double", columns: "a, b, d", create: "a INT NOT NULL, b CHAR(2) NOT NULL, d DOUBLE NOT NULL, PRIMARY KEY (a, b, d)", loose: true, value: func(r *rand.Rand) string {
			return fmt.Sprintf("%d, %s, %v", r.IntN(10), letters(r, "aAbB", 2), r.Float64())
		}},
		{name: "before_a_prefix", columns: "a, b", create: "a INT NOT NULL, b TEXT NOT NULL, PRIMARY KEY (a, b(5))", loose: true, value: func(r *rand.Rand) string {
			return fmt.Sprintf("%d, %s", r.IntN(20), letters(r, latinLetters, 5))
		}},
		{name: "odd_names", columns: "`or``der`, `数 '\"`", create: "`or``der` INT NOT NULL, `数 '\"` CHAR(9) NOT NULL, UNIQUE KEY `in``dex '` (`数 '\"`, `or``der`)", value: func(r *rand.Rand) string {
			return fmt.Sprintf("%d, %s", r.IntN(50), letters(r, "aAbBéÉ ", 2))
		}},
		{name: "versioned_maria", columns: "k, v", options: "WITH SYSTEM VERSIONING", create: "k VARCHAR(9) NOT NULL, v INT NOT NULL, PRIMARY KEY (k, v)", value: func(r *rand.Rand) string {
			return fmt.Sprintf("%s, %d", letters(r, "aAbBéÉ ", 2), r.IntN(50))
		}},
		{name: "partitions", columns: "a, k", options: "PARTITION BY HASH (a) PARTITIONS 5", create: "a INT NOT NULL, k CHAR(9) NOT NULL, PRIMARY KEY (k, a)", value: func(r *rand.Rand) string {
			return fmt.Sprintf("%d, %s", r.IntN(50), letters(r, "aAbBéÉ ", 2))
		}},
		{name: "descending", columns: "a, b", create: "a INT NOT NULL, b CHAR(9) NOT NULL, PRIMARY KEY (a DESC, b DESC)", value: func(r *rand.Rand) string {
			return fmt.Sprintf("%d, %s", r.IntN(90), letters(r, "aAbBéÉ ", 2))
		}},
		{name: "both_directions", columns: "a, b", create: "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a, b DESC)", loose: true, value: func(r *rand.Rand) string {
			return fmt.Sprintf("%d, %d", r.IntN(30), r.IntN(300))
		}},
		{name: "enum", columns: "k, b", whole: true, create: "k ENUM('z','a') NOT NULL, b INT NOT NULL, PRIMARY KEY (k, b)", value: func(r *rand.Rand) string {
			return fmt.Sprintf("%d, %d", 1+r.IntN(2), r.IntN(2000))
		}},
		{name: "no_key", columns: "a", whole: true, create: "a INT, KEY (a)", value: func(r *rand.Rand) string { return fmt.Sprint(r.IntN(9)) }},
		{name: "only_nullable", columns: "a", whole: true, create: "a INT, UNIQUE KEY (a)", value: func(r *rand.Rand) string { return fmt.Sprint(r.IntN(9000)) }},
	}
	for i := range shapes {
		if strings.HasSuffix(shapes[i].name, "_maria") {
			shapes[i].only = maria
		}
	}
	return shapes
}
