package wire

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"

	driversql "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
)

// frame makes packets of a payload, as a server would: full ones, then one that is not.
func frame(sequence byte, payload []byte) []byte {
	var out []byte
	for {
		n := min(len(payload), fullPacket)
		out = append(out, byte(n), byte(n>>8), byte(n>>16), sequence)
		out = append(out, payload[:n]...)
		payload = payload[n:]
		sequence++
		if n < fullPacket {
			return out
		}
	}
}

// frames makes packets of payloads, numbered from 1.
func frames(payloads ...[]byte) []byte {
	var out []byte
	sequence := byte(1)
	for _, p := range payloads {
		out = append(out, frame(sequence, p)...)
		sequence += byte(len(p)/fullPacket + 1)
	}
	return out
}

// readOnly is a stream that nothing is written to.
type readOnly struct{ io.Reader }

func (readOnly) Write(b []byte) (int, error) { return len(b), nil }

func TestPackets(t *testing.T) {
	payloads := [][]byte{{1}, {}, bytes.Repeat([]byte("ab"), readBuffer/2-2), bytes.Repeat([]byte("c"), readBuffer), {2, 3}, bytes.Repeat([]byte{4}, 1000)}
	for i := range 300 { // the number wraps
		payloads = append(payloads, bytes.Repeat([]byte{byte(i)}, i*31))
	}
	raw := frames(payloads...)
	for name, stream := range map[string]io.Reader{
		"whole": bytes.NewReader(raw), "halves": iotest.HalfReader(bytes.NewReader(raw)), "with end": iotest.DataErrReader(bytes.NewReader(raw)),
		"single bytes": iotest.OneByteReader(bytes.NewReader(raw)),
	} {
		p := newPackets(readOnly{stream})
		p.sequence = 1
		for i, want := range payloads {
			got, err := p.next()
			require.NoError(t, err, name)
			require.True(t, bytes.Equal(want, got), "%s: packet %d of %d bytes", name, i, len(want))
		}
		require.True(t, p.drained())
		_, err := p.next()
		require.ErrorIs(t, err, io.EOF)
	}
}

// TestPacketsJoined reads payloads that are longer than a packet, and those that just fill one or two.
func TestPacketsJoined(t *testing.T) {
	for _, n := range []int{fullPacket - 1, fullPacket, fullPacket + 1, 2 * fullPacket} {
		payload := bytes.Repeat([]byte{7}, n)
		payload[n-1] = 8
		raw := frames(payload, []byte("next"))
		p := newPackets(readOnly{bytes.NewReader(raw)})
		p.sequence = 1
		got, err := p.next()
		require.NoError(t, err)
		require.True(t, bytes.Equal(payload, got), "%d bytes", n)
		got, err = p.next()
		require.NoError(t, err)
		require.Equal(t, "next", string(got))
		require.Nil(t, p.large)
		for _, cut := range []int{2, 4, 1000, readBuffer + 100, fullPacket, fullPacket + 3, len(raw) - 9} {
			if cut >= n+headerSize*(1+n/fullPacket) {
				continue
			}
			p := newPackets(readOnly{bytes.NewReader(raw[:cut])})
			p.sequence = 1
			_, err := p.next()
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d of %d bytes", cut, n)
		}
	}
}

func TestPacketsOutOfOrder(t *testing.T) {
	p := newPackets(readOnly{bytes.NewReader(frame(3, []byte("x")))})
	p.sequence = 2
	_, err := p.next()
	require.ErrorIs(t, err, ErrMalformed)
	full := frame(1, make([]byte, fullPacket))
	full[len(full)-1] = 9 // the number of the empty packet that ends it
	p = newPackets(readOnly{bytes.NewReader(full)})
	p.sequence = 1
	_, err = p.next()
	require.ErrorIs(t, err, ErrMalformed)
	require.Error(t, p.command(commandPrepare, make([]byte, fullPacket)))
}

func TestServerError(t *testing.T) {
	var e *driversql.MySQLError
	require.ErrorAs(t, serverError([]byte("\xff\x25\x05#70100interrupted")), &e)
	require.EqualValues(t, 1317, e.Number)
	require.Equal(t, "70100", string(e.SQLState[:]))
	require.Equal(t, "interrupted", e.Message)
	require.ErrorAs(t, serverError([]byte("\xff\x25\x05plain")), &e)
	require.Equal(t, "plain", e.Message)
	for _, bad := range []string{"", "\xff", "\xff\x01", "\x00\x01\x02"} {
		require.ErrorIs(t, serverError([]byte(bad)), ErrMalformed)
	}
}

// definition is a column definition of protocol 4.1.
func definitionPacket(kind byte, flags byte) []byte {
	p := []byte("\x03def\x01d\x01t\x01t\x01v\x01v\x0c")
	return append(p, 33, 0, 10, 0, 0, 0, kind, flags, 0, 0, 0, 0)
}

var (
	prepareOK = []byte{0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	eofPacket = []byte{headEOF, 0, 0, 2, 0}
)

// answers joins the answers to prepare and to execute, whose numbering starts anew.
func answers(prepare, execute [][]byte) []byte {
	return append(frames(prepare...), frames(execute...)...)
}

// runInt reads one INT column from a hand-made conversation.
func runInt(raw []byte, deprecateEOF, cacheMetadata bool) ([]int32, error) {
	column := source.Column{Name: "v", Definition: "int(11)", Type: schema.Of(schema.Int)}
	r := recording{DeprecateEOF: deprecateEOF, CacheMetadata: cacheMetadata, Packets: raw}
	r.Read.Outputs = []source.Output{{Column: column, Type: column.Type}}
	var got []int32
	_, err := r.run(2, 1<<20, func(b *row.Batch) error {
		got = append(got, b.Columns[0].I32...)
		return nil
	})
	return got, err
}

// TestConversations covers what servers negotiate: EOF or OK at the end, definitions sent again or not.
func TestConversations(t *testing.T) {
	def := definitionPacket(typeLong, 0)
	rows := [][]byte{{0, 0, 1, 0, 0, 0}, {0, 4}, {0, 0, 0xff, 0xff, 0xff, 0xff}}
	want := []int32{1, 0, -1}
	okEnd := []byte{headEOF, 0, 0, 2, 0, 0, 0}
	add := func(head [][]byte, tail ...[]byte) [][]byte {
		return append(append(append([][]byte{}, head...), rows...), tail...)
	}
	for name, c := range map[string]struct {
		raw                     []byte
		deprecateEOF, cacheMeta bool
	}{
		"old":              {answers([][]byte{prepareOK, def, eofPacket}, add([][]byte{{1}, def, eofPacket}, eofPacket)), false, false},
		"new":              {answers([][]byte{prepareOK, def}, add([][]byte{{1}, def}, okEnd)), true, false},
		"again":            {answers([][]byte{prepareOK, def}, add([][]byte{{1, 1}, def}, okEnd)), true, true},
		"cached":           {answers([][]byte{prepareOK, def}, add([][]byte{{1, 0}}, okEnd)), true, true},
		"cached, with EOF": {answers([][]byte{prepareOK, def, eofPacket}, add([][]byte{{1, 0}, eofPacket}, eofPacket)), false, true},
	} {
		got, err := runInt(c.raw, c.deprecateEOF, c.cacheMeta)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	refusal := []byte("\xff\x25\x05#70100interrupted")
	changed := definitionPacket(typeLongLong, 0)
	for name, c := range map[string]struct {
		raw []byte
		err error
	}{
		"error to prepare":        {answers([][]byte{refusal}, nil), &driversql.MySQLError{Number: 1317}},
		"error to execute":        {answers([][]byte{prepareOK, def}, [][]byte{refusal}), &driversql.MySQLError{Number: 1317}},
		"error for a definition":  {answers([][]byte{prepareOK, def}, [][]byte{{1}, refusal}), &driversql.MySQLError{Number: 1317}},
		"error after rows":        {answers([][]byte{prepareOK, def}, add([][]byte{{1}, def}, refusal)), &driversql.MySQLError{Number: 1317}},
		"altered in between":      {answers([][]byte{prepareOK, def}, add([][]byte{{1}, changed}, okEnd)), source.ErrSchemaChanged},
		"altered before prepare":  {answers([][]byte{prepareOK, changed}, nil), source.ErrSchemaChanged},
		"unsigned before prepare": {answers([][]byte{prepareOK, definitionPacket(typeLong, flagUnsigned)}, nil), source.ErrSchemaChanged},
		"no end":                  {answers([][]byte{prepareOK, def}, add([][]byte{{1}, def})), io.EOF},
		"empty packet":            {answers([][]byte{prepareOK, def}, [][]byte{{1}, def, {}}), ErrMalformed},
		"strange packet":          {answers([][]byte{prepareOK, def}, [][]byte{{1}, def, {5, 5}}), ErrMalformed},
		"short row":               {answers([][]byte{prepareOK, def}, [][]byte{{1}, def, {0, 0, 1, 0}}), ErrMalformed},
		"long row":                {answers([][]byte{prepareOK, def}, [][]byte{{1}, def, {0, 0, 1, 0, 0, 0, 0}}), ErrMalformed},
		"two columns":             {answers([][]byte{{0, 1, 0, 0, 0, 2, 0, 0, 0}, def, def}, nil), ErrMalformed},
		"no columns":              {answers([][]byte{{0, 1, 0, 0, 0, 0, 0, 0, 0}}, nil), ErrMalformed},
		"no result":               {answers([][]byte{prepareOK, def}, [][]byte{{0, 0, 0, 2, 0, 0, 0}}), ErrMalformed},
		"short definition":        {answers([][]byte{prepareOK, def[:20]}, nil), ErrMalformed},
		"short answer":            {answers([][]byte{{0, 1}}, nil), ErrMalformed},
		"other answer":            {answers([][]byte{append([]byte{1}, prepareOK[1:]...)}, nil), ErrMalformed},
	} {
		_, err := runInt(c.raw, true, false)
		require.ErrorIs(t, err, c.err, name)
	}
	_, err := runInt(answers([][]byte{{0, 1, 0, 0, 0, 1, 0, 1, 0}, def, def}, nil), true, false)
	require.ErrorContains(t, err, "parameters")
	_, err = runInt(answers([][]byte{prepareOK, def, def}, nil), false, false)
	require.ErrorIs(t, err, ErrMalformed)
}
