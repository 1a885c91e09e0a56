package main

import (
	"bytes"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

var mem = memory.NewGoAllocator()

func metadata(version string) *arrow.Metadata {
	m := arrow.NewMetadata([]string{"parca_write_schema_version"}, []string{version})
	return &m
}

func encoded(values arrow.DataType) arrow.DataType {
	return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: values}
}

func runs(values arrow.DataType) arrow.DataType {
	return arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, values)
}

var (
	text  = arrow.BinaryTypes.String
	blob  = arrow.BinaryTypes.Binary
	words = runs(encoded(blob)) // texts of the first version
)

// What a sample says in a column: nil where it says nothing.
type column func(s *sample) any

// Builds a column of runs, or a plain one.
func build(kind arrow.DataType, count int, at func(i int) any) arrow.Array {
	builder := array.NewBuilder(mem, kind)
	defer builder.Release()
	var before any
	for i := 0; i < count; i++ {
		value := at(i)
		ree, isRuns := builder.(*array.RunEndEncodedBuilder)
		switch {
		case value == nil:
			builder.AppendNull()
		case isRuns && i > 0 && value == before:
			ree.ContinueRun(1)
		case isRuns:
			ree.Append(1)
			appendOne(ree.ValueBuilder(), value)
		default:
			appendOne(builder, value)
		}
		before = value
	}
	return builder.NewArray()
}

func appendOne(builder array.Builder, value any) {
	switch b := builder.(type) {
	case *array.BinaryDictionaryBuilder:
		must(b.AppendString(value.(string)))
	case *array.StringBuilder:
		b.Append(value.(string))
	case *array.StringViewBuilder:
		b.AppendString(value.(string))
	case *array.BinaryBuilder:
		b.Append([]byte(value.(string)))
	case *array.Int64Builder:
		b.Append(value.(int64))
	case *array.Uint64Builder:
		b.Append(uint64(value.(int64)))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(value.(int64)))
	case *array.BooleanBuilder:
		b.Append(value.(bool))
	case *array.FixedSizeBinaryBuilder:
		b.Append([]byte(value.(string)))
	default:
		panic(b.Type())
	}
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Parts of the profile type, period and temporality of a kind of samples.
func kindOf(s *sample) (parts [5]string, period, duration int64, temporality any) {
	switch s.Kind {
	case "wall":
		return [5]string{"parca_agent", "wallclock", "nanoseconds", "samples", "count"}, 0, 1e9, "delta"
	case "heap":
		return [5]string{"memory", "inuse_space", "bytes", "space", "bytes"}, 524288, 0, nil
	}
	return [5]string{"parca_agent", "samples", "count", "cpu", "nanoseconds"}, 52631578, 1e9, "delta"
}

func labelNames(r *request) (names []string) {
	seen := map[string]bool{}
	for name := range r.Labels {
		seen[name] = true
	}
	for _, batch := range r.Batches {
		for _, s := range batch {
			for name := range s.Labels {
				seen[name] = true
			}
		}
	}
	for name := range seen {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func label(r *request, name string) column {
	return func(s *sample) any {
		if value, is := s.Labels[name]; is {
			return orNil(value)
		}
		return orNil(r.Labels[name])
	}
}

func stackID(r *request, stack int) []byte {
	form, _ := json.Marshal(r.Stacks[stack])
	sum := md5.Sum(form)
	sum[5], sum[9] = 0, 0xFF // as in any id: bytes that are no text
	return sum[:]
}

// One record batch's columns, by the version's types.
type table struct {
	fields  []arrow.Field
	columns []arrow.Array
	rows    int
}

func (t *table) add(name string, kind arrow.DataType, nullable bool, values arrow.Array) {
	t.fields = append(t.fields, arrow.Field{Name: name, Type: kind, Nullable: nullable})
	t.columns = append(t.columns, values)
}

func (t *table) record(version string) arrow.RecordBatch {
	return array.NewRecordBatch(arrow.NewSchema(t.fields, metadata(version)), t.columns, int64(t.rows))
}

// What both versions say of a sample behind its stack; times differ.
func (t *table) addValues(batch []sample, texts, duration arrow.DataType) {
	of := func(at column) func(int) any { return func(i int) any { return at(&batch[i]) } }
	t.add("value", arrow.PrimitiveTypes.Int64, false, build(arrow.PrimitiveTypes.Int64, t.rows, of(func(s *sample) any { return s.Value })))
	for i, name := range []string{"producer", "sample_type", "sample_unit", "period_type", "period_unit"} {
		t.add(name, texts, false, build(texts, t.rows, of(func(s *sample) any { parts, _, _, _ := kindOf(s); return parts[i] })))
	}
	t.add("temporality", texts, true, build(texts, t.rows, of(func(s *sample) any { _, _, _, temporality := kindOf(s); return temporality })))
	period := runs(arrow.PrimitiveTypes.Int64)
	t.add("period", period, false, build(period, t.rows, of(func(s *sample) any { _, period, _, _ := kindOf(s); return period })))
	t.add("duration", duration, false, build(duration, t.rows, of(func(s *sample) any { _, _, duration, _ := kindOf(s); return duration })))
}

// --- the first version: ids, and stacks on demand ---

func samplesV1(r *request, batch []sample) arrow.RecordBatch {
	t := &table{rows: len(batch)}
	of := func(at column) func(int) any { return func(i int) any { return at(&batch[i]) } }
	for _, name := range labelNames(r) {
		t.add("labels."+name, words, true, build(words, t.rows, of(label(r, name))))
	}
	t.add("stacktrace_id", words, false, build(words, t.rows, of(func(s *sample) any { return string(stackID(r, s.Stack)) })))
	t.addValues(batch, words, runs(arrow.PrimitiveTypes.Int64))
	times := runs(arrow.PrimitiveTypes.Int64)
	t.add("timestamp", times, false, build(times, t.rows, of(func(s *sample) any { return s.TimeNs })))
	return t.record("v1")
}

var lineV1 = arrow.StructOf(
	arrow.Field{Name: "line", Type: arrow.PrimitiveTypes.Int64},
	arrow.Field{Name: "column", Type: arrow.PrimitiveTypes.Uint64},
	arrow.Field{Name: "function_name", Type: encoded(blob)},
	arrow.Field{Name: "function_system_name", Type: encoded(blob)},
	arrow.Field{Name: "function_filename", Type: words},
	arrow.Field{Name: "function_start_line", Type: arrow.PrimitiveTypes.Int64},
)

var locationV1 = arrow.StructOf(
	arrow.Field{Name: "address", Type: arrow.PrimitiveTypes.Uint64},
	arrow.Field{Name: "frame_type", Type: words},
	arrow.Field{Name: "mapping_start", Type: runs(arrow.PrimitiveTypes.Uint64)},
	arrow.Field{Name: "mapping_limit", Type: runs(arrow.PrimitiveTypes.Uint64)},
	arrow.Field{Name: "mapping_offset", Type: runs(arrow.PrimitiveTypes.Uint64)},
	arrow.Field{Name: "mapping_file", Type: words},
	arrow.Field{Name: "mapping_build_id", Type: words},
	arrow.Field{Name: "lines", Type: arrow.ListOf(lineV1)},
)

// Frames of the stack of an id; a stack that is gone has one that says so, one that was not asked for is empty.
func framesOf(r *request, id []byte) []frame {
	if r.byID == nil {
		r.byID = map[string]int{}
		for i := range r.Stacks {
			r.byID[string(stackID(r, i))] = i
		}
	}
	i, is := r.byID[string(id)]
	if !is {
		return nil
	}
	if slices.Contains(r.Evicted, i) {
		return []frame{{Type: "unknown", Function: "missing stacktrace"}}
	}
	return r.Stacks[i]
}

// Appends a value to a field of a struct, which may be of runs.
func field(builder array.Builder, value any) {
	if ree, is := builder.(*array.RunEndEncodedBuilder); is {
		if value == nil {
			ree.AppendNull()
			return
		}
		ree.Append(1)
		builder = ree.ValueBuilder()
	}
	if value == nil {
		builder.AppendNull()
		return
	}
	appendOne(builder, value)
}

func stacksV1(r *request, ids [][]byte) []byte {
	lists := array.NewBuilder(mem, arrow.ListOf(locationV1)).(*array.ListBuilder)
	locations := lists.ValueBuilder().(*array.StructBuilder)
	lines := locations.FieldBuilder(7).(*array.ListBuilder)
	line := lines.ValueBuilder().(*array.StructBuilder)
	for _, id := range ids {
		frames := framesOf(r, id)
		lists.Append(len(frames) > 0)
		for _, f := range frames {
			locations.Append(true)
			for i, value := range []any{int64(f.Address), f.Type, int64(0), int64(0), int64(0), orNil(f.File), orNil(f.BuildID)} {
				field(locations.FieldBuilder(i), value)
			}
			lines.Append(f.Function != "")
			if f.Function == "" {
				continue
			}
			line.Append(true)
			for i, value := range []any{int64(f.Line), int64(0), f.Function, "", orNil(f.Source), int64(0)} {
				field(line.FieldBuilder(i), value)
			}
		}
	}
	t := &table{rows: len(ids)}
	t.add("stacktrace_id", blob, false, build(blob, t.rows, func(i int) any { return string(ids[i]) }))
	t.add("is_complete", arrow.FixedWidthTypes.Boolean, false, build(arrow.FixedWidthTypes.Boolean, t.rows, func(int) any { return true }))
	t.add("locations", arrow.ListOf(locationV1), false, lists.NewArray())
	return write1(t.record("v1"), nil)
}

func readIDs(record []byte) (ids [][]byte, err error) {
	reader, err := ipc.NewReader(bytes.NewReader(record), ipc.WithAllocator(mem))
	if err != nil {
		return nil, err
	}
	defer reader.Release()
	for reader.Next() {
		values := reader.RecordBatch().Column(0).(*array.Binary)
		for i := 0; i < values.Len(); i++ {
			ids = append(ids, bytes.Clone(values.Value(i)))
		}
	}
	return ids, reader.Err()
}

// What the column of values adds up to.
func sumOf(record []byte) (sum int64, err error) {
	reader, err := ipc.NewReader(bytes.NewReader(record), ipc.WithAllocator(mem))
	if err != nil {
		return 0, err
	}
	defer reader.Release()
	places := reader.Schema().FieldIndices("value")
	if len(places) != 1 {
		return 0, fmt.Errorf("%d columns are named value", len(places))
	}
	for reader.Next() {
		values := reader.RecordBatch().Column(places[0]).(*array.Int64)
		for i := 0; i < values.Len(); i++ {
			sum += values.Value(i)
		}
	}
	return sum, reader.Err()
}

// --- the second version: stacks in the samples ---

var functionV2 = arrow.StructOf(
	arrow.Field{Name: "system_name", Type: arrow.BinaryTypes.StringView, Nullable: true},
	arrow.Field{Name: "filename", Type: encoded(text), Nullable: true},
	arrow.Field{Name: "start_line", Type: arrow.PrimitiveTypes.Uint64},
)

var lineV2 = arrow.StructOf(
	arrow.Field{Name: "line", Type: arrow.PrimitiveTypes.Uint64},
	arrow.Field{Name: "column", Type: arrow.PrimitiveTypes.Uint64},
	arrow.Field{Name: "function", Type: encoded(functionV2)},
)

var locationV2 = arrow.StructOf(
	arrow.Field{Name: "address", Type: arrow.PrimitiveTypes.Uint64},
	arrow.Field{Name: "frame_type", Type: encoded(text), Nullable: true},
	arrow.Field{Name: "mapping_file", Type: encoded(text), Nullable: true},
	arrow.Field{Name: "mapping_build_id", Type: encoded(text), Nullable: true},
	arrow.Field{Name: "lines", Type: arrow.ListViewOf(lineV2), Nullable: true},
)

// Items that are there once each, in the order in which they came.
type distinct[T comparable] struct {
	index map[T]uint32
	items []T
}

func (d *distinct[T]) add(item T) uint32 {
	at, is := d.index[item]
	if !is {
		if d.index == nil {
			d.index = map[T]uint32{}
		}
		at = uint32(len(d.items))
		d.index[item] = at
		d.items = append(d.items, item)
	}
	return at
}

func numbers[T int32 | uint32](values []T) *memory.Buffer {
	out := make([]byte, 0, 4*len(values))
	for _, v := range values {
		out = append(out, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	return memory.NewBufferBytes(out)
}

func structure(kind arrow.DataType, count int, fields ...arrow.Array) arrow.Array {
	var children []arrow.ArrayData
	for _, f := range fields {
		children = append(children, f.Data())
	}
	return array.MakeFromData(array.NewData(kind, count, []*memory.Buffer{nil}, children, 0, 0))
}

func listView(kind arrow.DataType, validity *memory.Buffer, nulls int, offsets, sizes []int32, items arrow.Array) arrow.Array {
	return array.MakeFromData(array.NewData(kind, len(offsets), []*memory.Buffer{validity, numbers(offsets), numbers(sizes)},
		[]arrow.ArrayData{items.Data()}, nulls, 0))
}

func indexes(kind arrow.DataType, values []uint32, dictionary arrow.Array) arrow.Array {
	index := array.MakeFromData(array.NewData(arrow.PrimitiveTypes.Uint32, len(values), []*memory.Buffer{nil, numbers(values)}, nil, 0, 0))
	return array.NewDictionaryArray(kind, index, dictionary)
}

type function struct{ name, file string }

// Equal locations, functions and stacks are there once; frames without a function have no lines.
func stacksV2(r *request, batch []sample) arrow.Array {
	var locations distinct[frame]
	var functions distinct[function]
	var listed []uint32 // locations of lists
	var offsets, sizes []int32
	known := map[int][2]int32{}
	for _, s := range batch {
		at, is := known[s.Stack]
		if !is {
			at = [2]int32{int32(len(listed)), int32(len(r.Stacks[s.Stack]))}
			known[s.Stack] = at
			for _, f := range r.Stacks[s.Stack] {
				listed = append(listed, locations.add(f))
			}
		}
		offsets, sizes = append(offsets, at[0]), append(sizes, at[1])
	}

	var lineOffsets, lineSizes []int32
	var lineNumbers, functionIndexes []uint32
	validity := make([]byte, bitutil.BytesForBits(int64(len(locations.items))))
	nulls := 0
	for i, f := range locations.items {
		lineOffsets = append(lineOffsets, int32(len(lineNumbers)))
		if f.Function == "" {
			lineSizes = append(lineSizes, 0)
			nulls++
			continue
		}
		bitutil.SetBit(validity, i)
		lineSizes = append(lineSizes, 1)
		lineNumbers = append(lineNumbers, uint32(f.Line))
		functionIndexes = append(functionIndexes, functions.add(function{f.Function, f.Source}))
	}

	ofFunction := func(kind arrow.DataType, at func(function) any) arrow.Array {
		return build(kind, len(functions.items), func(i int) any { return at(functions.items[i]) })
	}
	ofLocation := func(kind arrow.DataType, at func(frame) any) arrow.Array {
		return build(kind, len(locations.items), func(i int) any { return at(locations.items[i]) })
	}
	u64 := arrow.PrimitiveTypes.Uint64
	functionItems := structure(functionV2, len(functions.items),
		ofFunction(arrow.BinaryTypes.StringView, func(f function) any { return f.name }),
		ofFunction(encoded(text), func(f function) any { return orNil(f.file) }),
		ofFunction(u64, func(function) any { return int64(0) }))
	lineItems := structure(lineV2, len(lineNumbers),
		build(u64, len(lineNumbers), func(i int) any { return int64(lineNumbers[i]) }),
		build(u64, len(lineNumbers), func(int) any { return int64(7) }),
		indexes(encoded(functionV2), functionIndexes, functionItems))
	lines := listView(arrow.ListViewOf(lineV2), memory.NewBufferBytes(validity), nulls, lineOffsets, lineSizes, lineItems)
	items := structure(locationV2, len(locations.items),
		ofLocation(u64, func(f frame) any { return int64(f.Address) }),
		ofLocation(encoded(text), func(f frame) any { return f.Type }),
		ofLocation(encoded(text), func(f frame) any { return orNil(f.File) }),
		ofLocation(encoded(text), func(f frame) any { return orNil(f.BuildID) }),
		lines)
	return listView(arrow.ListViewOf(encoded(locationV2)), nil, 0, offsets, sizes, indexes(encoded(locationV2), listed, items))
}

func samplesV2(r *request, batch []sample) arrow.RecordBatch {
	t := &table{rows: len(batch)}
	of := func(at column) func(int) any { return func(i int) any { return at(&batch[i]) } }
	kind := runs(encoded(text))
	var fields []arrow.Field
	var labels []arrow.Array
	for _, name := range labelNames(r) {
		fields = append(fields, arrow.Field{Name: name, Type: kind, Nullable: true})
		labels = append(labels, build(kind, t.rows, of(label(r, name))))
	}
	t.add("labels", arrow.StructOf(fields...), false, structure(arrow.StructOf(fields...), t.rows, labels...))
	t.add("stacktrace", arrow.ListViewOf(encoded(locationV2)), true, stacksV2(r, batch))
	ids := extensions.NewUUIDBuilder(mem)
	for i := range batch {
		ids.AppendBytes([16]byte(stackID(r, batch[i].Stack)))
	}
	t.add("stacktrace_id", extensions.NewUUIDType(), false, ids.NewArray())
	t.addValues(batch, runs(text), runs(arrow.PrimitiveTypes.Uint64))
	times := &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}
	t.add("timestamp", times, false, build(times, t.rows, of(func(s *sample) any { return s.TimeNs })))
	return t.record("v2")
}

// --- streams ---

func write1(record arrow.RecordBatch, options []ipc.Option) []byte {
	var out bytes.Buffer
	writer := ipc.NewWriter(&out, append(options, ipc.WithSchema(record.Schema()), ipc.WithAllocator(mem))...)
	must(writer.Write(record))
	must(writer.Close())
	return out.Bytes()
}

// All record batches of a request.
func stream(r *request, make func(*request, []sample) arrow.RecordBatch) []byte {
	var out bytes.Buffer
	var writer *ipc.Writer
	options := map[string][]ipc.Option{"lz4": {ipc.WithLZ4()}, "zstd": {ipc.WithZstd()}}[r.Compression]
	for _, batch := range r.Batches {
		record := make(r, batch)
		if writer == nil {
			writer = ipc.NewWriter(&out, append(options, ipc.WithSchema(record.Schema()), ipc.WithAllocator(mem))...)
		}
		must(writer.Write(record))
	}
	must(writer.Close())
	return out.Bytes()
}
