// Files of the pprof format, written field by field.
package main

import (
	"bytes"
	"compress/gzip"
)

type valueType struct{ kind, unit string }

type label struct {
	key, text string // text of a number is its unit
	number    int64
	numeric   bool
}

type function struct {
	name, systemName, file string
	startLine              int64
}

type line struct {
	function int // index
	line     int64
}

type location struct {
	mapping int // index + 1, 0 for none
	address uint64
	lines   []line // innermost first
}

type mapping struct {
	start, limit, offset uint64
	file, buildID        string
}

type sample struct {
	locations []int // indexes, leaf first
	values    []int64
	labels    []label
}

type profile struct {
	types      []valueType
	periodType valueType
	period     int64
	timeNanos  int64
	duration   int64
	mappings   []mapping
	functions  []function
	locations  []location
	samples    []sample
	notes
}

// What a file may say beside its samples.
type notes struct {
	defaultType, docURL, dropFrames, keepFrames string
	comments                                    []string
}

type encoder struct {
	out     []byte
	strings map[string]int
	table   []string
}

func varint(out []byte, value uint64) []byte {
	for ; value >= 0x80; value >>= 7 {
		out = append(out, byte(value)|0x80)
	}
	return append(out, byte(value))
}

func number(out []byte, field int, value int64) []byte {
	if value == 0 {
		return out
	}
	return varint(varint(out, uint64(field<<3)), uint64(value))
}

func message(out []byte, field int, body []byte) []byte {
	out = varint(varint(out, uint64(field<<3|2)), uint64(len(body)))
	return append(out, body...)
}

func (e *encoder) text(value string) int64 {
	index, found := e.strings[value]
	if !found {
		index = len(e.table)
		e.strings[value] = index
		e.table = append(e.table, value)
	}
	return int64(index)
}

func (e *encoder) valueType(field int, t valueType) {
	e.out = message(e.out, field, number(number(nil, 1, e.text(t.kind)), 2, e.text(t.unit)))
}

func (e *encoder) sample(s sample) {
	var ids, values, body []byte
	for _, index := range s.locations {
		ids = varint(ids, uint64(index+1))
	}
	for _, value := range s.values {
		values = varint(values, uint64(value))
	}
	body = message(message(nil, 1, ids), 2, values)
	for _, l := range s.labels {
		one := number(nil, 1, e.text(l.key))
		if l.numeric {
			one = number(number(one, 3, l.number), 4, e.text(l.text))
		} else {
			one = number(one, 2, e.text(l.text))
		}
		body = message(body, 3, one)
	}
	e.out = message(e.out, 2, body)
}

// Samples come first, as in files of Go programs, so readers cannot rely on an order.
func (p *profile) encode() []byte {
	e := &encoder{strings: map[string]int{}}
	e.text("")
	for _, t := range p.types {
		e.valueType(1, t)
	}
	for _, s := range p.samples {
		e.sample(s)
	}
	for i, m := range p.mappings {
		body := number(number(nil, 1, int64(i+1)), 2, int64(m.start))
		body = number(number(body, 3, int64(m.limit)), 4, int64(m.offset))
		body = number(number(body, 5, e.text(m.file)), 6, e.text(m.buildID))
		e.out = message(e.out, 3, number(body, 7, 1))
	}
	for i, l := range p.locations {
		body := number(number(nil, 1, int64(i+1)), 2, int64(l.mapping))
		body = number(body, 3, int64(l.address))
		for _, ln := range l.lines {
			body = message(body, 4, number(number(nil, 1, int64(ln.function+1)), 2, ln.line))
		}
		e.out = message(e.out, 4, body)
	}
	for i, f := range p.functions {
		body := number(number(nil, 1, int64(i+1)), 2, e.text(f.name))
		body = number(number(body, 3, e.text(f.systemName)), 4, e.text(f.file))
		e.out = message(e.out, 5, number(body, 5, f.startLine))
	}
	e.valueType(11, p.periodType)
	e.out = number(number(number(e.out, 9, p.timeNanos), 10, p.duration), 12, p.period)
	e.out = number(number(e.out, 7, e.text(p.dropFrames)), 8, e.text(p.keepFrames))
	e.out = number(number(e.out, 14, e.text(p.defaultType)), 15, e.text(p.docURL))
	for _, comment := range p.comments {
		e.out = number(e.out, 13, e.text(comment))
	}
	for _, s := range e.table {
		e.out = message(e.out, 6, []byte(s))
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	writer.Write(e.out)
	writer.Close()
	return packed.Bytes()
}
