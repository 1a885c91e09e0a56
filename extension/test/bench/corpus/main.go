// Writes a fleet's profiles as a scraper gets them: DIRECTORY/SERVICE/INSTANCE/NUMBER.pb.gz, the same bytes at each run.
//
//	corpus DIRECTORY FILES [SEED]
//
// Ten services of 20 instances, a file every ten seconds and instance; a file has 140 samples of one type. A service has 5,000
// stacks of some 25 frames, 6,700 locations and 2,240 functions, in which each stack brings about 15 nodes of its own. Another
// seed gives other functions, so that nothing of it is known.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

const (
	services  = 10
	instances = 20
	functions = 2240
	locations = 6700
	stacks    = 5000
	samples   = 140
	period    = 52631579
	begin     = 1767225600 // 2026-01-01
)

type random uint64

func (r *random) below(n int) int {
	*r = *r*6364136223846793005 + 1442695040888963407
	return int(uint64(*r) >> 33 % uint64(n))
}

type message struct{ bytes.Buffer }

func (m *message) varint(v uint64) {
	for v >= 0x80 {
		m.WriteByte(byte(v) | 0x80)
		v >>= 7
	}
	m.WriteByte(byte(v))
}

func (m *message) number(field int, v uint64) {
	if v != 0 {
		m.varint(uint64(field) << 3)
		m.varint(v)
	}
}

func (m *message) bytes(field int, b []byte) {
	m.varint(uint64(field)<<3 | 2)
	m.varint(uint64(len(b)))
	m.Write(b)
}

func (m *message) inner(field int, fill func(*message)) {
	var inner message
	fill(&inner)
	m.bytes(field, inner.Bytes())
}

type service struct {
	name   string
	stacks [][]int // of locations, leaf first
	seed   string
}

func newService(number int, seed string) *service {
	s := &service{name: fmt.Sprintf("service-%d", number), seed: seed}
	r := random(uint64(number)*7919 + 1)
	for i := 0; i < stacks; i++ {
		var stack []int
		for j, own := 0, 5+r.below(21); j < own; j++ {
			stack = append(stack, r.below(1+r.below(1+r.below(locations))))
		}
		if i > 0 {
			other := s.stacks[r.below(i)]
			if kept := len(other) * r.below(100) / 160; len(stack)+kept <= 64 {
				stack = append(stack, other[len(other)-kept:]...)
			}
		}
		s.stacks = append(s.stacks, stack)
	}
	return s
}

// A file as a tool writes it: what its samples use, numbered as they come.
type file struct {
	message
	service   *service
	strings   map[string]uint64
	table     []string
	functions map[int]uint64
	locations map[int]uint64
}

func (f *file) text(s string) uint64 {
	n, found := f.strings[s]
	if !found {
		n = uint64(len(f.table))
		f.strings[s] = n
		f.table = append(f.table, s)
	}
	return n
}

func (f *file) function(n int) uint64 {
	id, found := f.functions[n]
	if found {
		return id
	}
	id = uint64(len(f.functions) + 1)
	f.functions[n] = id
	f.inner(5, func(m *message) {
		name := f.text(fmt.Sprintf("example.com/%s/part%d.(*Worker).method%s%d", f.service.name, n%97, f.service.seed, n))
		m.number(1, id)
		m.number(2, name)
		m.number(3, name)
		m.number(4, f.text(fmt.Sprintf("/src/%s/part%d/worker%d.go", f.service.name, n%97, n%7)))
		m.number(5, uint64(10+n%900))
	})
	return id
}

func (f *file) location(n int) uint64 {
	id, found := f.locations[n]
	if found {
		return id
	}
	id = uint64(len(f.locations) + 1)
	f.locations[n] = id
	function := f.function(n % functions)
	f.inner(4, func(m *message) {
		m.number(1, id)
		m.number(2, 1)
		m.number(3, uint64(0x401000+n*37))
		m.inner(4, func(m *message) {
			m.number(1, function)
			m.number(2, uint64(12+n%800))
		})
	})
	return id
}

func (s *service) file(number uint64, r *random) []byte {
	f := &file{service: s, strings: map[string]uint64{"": 0}, table: []string{""}, functions: map[int]uint64{}, locations: map[int]uint64{}}
	cpu := func(m *message) {
		m.number(1, f.text("cpu"))
		m.number(2, f.text("nanoseconds"))
	}
	f.inner(1, cpu)
	f.inner(3, func(m *message) {
		m.number(1, 1)
		m.number(2, 0x400000)
		m.number(3, 0x2400000)
		m.number(5, f.text("/usr/bin/"+s.name))
		m.number(6, f.text(fmt.Sprintf("%s0123456789abcdef", s.name+s.seed)))
	})
	for i := 0; i < samples; i++ {
		// some stacks are much more frequent than others
		stack := s.stacks[r.below(1+r.below(stacks))]
		var ids, values message
		for _, location := range stack {
			ids.varint(f.location(location))
		}
		values.varint(uint64(period * (1 + r.below(9))))
		f.inner(2, func(m *message) {
			m.bytes(1, ids.Bytes())
			m.bytes(2, values.Bytes())
		})
	}
	f.inner(11, cpu)
	f.number(9, (begin+10*number)*1000000000)
	f.number(10, 10*1000000000)
	f.number(12, period)
	for _, text := range f.table {
		f.bytes(6, []byte(text))
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(f.Bytes()); err != nil || w.Close() != nil {
		panic(err)
	}
	return packed.Bytes()
}

func main() {
	count, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	seed := ""
	if len(os.Args) > 3 {
		seed = os.Args[3]
	}
	each := (count + services*instances - 1) / (services * instances)
	for i := 0; i < services; i++ {
		s := newService(i, seed)
		for j := 0; j < instances; j++ {
			directory := filepath.Join(os.Args[1], s.name, fmt.Sprintf("host-%d", j))
			if err := os.MkdirAll(directory, 0o755); err != nil {
				panic(err)
			}
			r := random(uint64(i*1000+j)*104729 + 7)
			for n := 0; n < each; n++ {
				path := filepath.Join(directory, fmt.Sprintf("%04d.pb.gz", n))
				if err := os.WriteFile(path, s.file(uint64(n), &r), 0o644); err != nil {
					panic(err)
				}
			}
		}
	}
}
