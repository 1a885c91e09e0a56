// The test set: profiles that the Go runtime makes of programs here, and made-up ones with fixed seeds.
package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"time"
)

type file struct {
	name    string
	bytes   []byte
	sources string // directory of sources that it names without one
	plain   bool   // it has neither lines nor notes that would make another report of it worth its time
}

const startNanos = 1700000000123456000

var cpu = valueType{"cpu", "nanoseconds"}

func base() *profile {
	return &profile{
		types:      []valueType{{"samples", "count"}, cpu},
		periodType: cpu, period: 10000000, timeNanos: startNanos, duration: 10000000000,
		mappings: []mapping{{0x400000, 0x500000, 0, "/bin/made-up", "0123456789abcdef"}},
	}
}

// The path of a source that checkFile writes.
func made(name string) string { return filepath.Join(directory, "src", name) }

// A function, and a location in it.
func (p *profile) place(name string, number int64) int {
	p.functions = append(p.functions, function{name, name, made(fmt.Sprintf("file%d.c", len(p.functions)%50)), number})
	at := len(p.functions) - 1
	p.locations = append(p.locations, location{1, uint64(0x400000 + 16*at), []line{{at, number + 3}}})
	return len(p.locations) - 1
}

func (p *profile) add(count int64, labels []label, locations ...int) {
	values := []int64{count, count * p.period}
	p.samples = append(p.samples, sample{locations, values[:len(p.types)], labels})
}

func empty() *profile { return base() }

func one() *profile {
	p := base()
	p.add(1, nil, p.place("main", 1))
	return p
}

func negative() *profile {
	p := base()
	a, b, c := p.place("main", 1), p.place("grew", 10), p.place("shrank", 20)
	p.add(7, nil, b, a)
	p.add(-5, nil, c, a)
	p.add(3, nil, a)
	p.add(-3, nil, a)
	return p
}

func deep() *profile {
	p := base()
	var stack []int
	for i := 0; i < 1500; i++ {
		stack = append([]int{p.place(fmt.Sprintf("level%d", i), int64(i+1))}, stack...)
		if i%100 == 99 {
			p.add(int64(i), nil, stack...)
		}
	}
	return p
}

func recursion() *profile {
	p := base()
	main, f, g, h := p.place("main", 1), p.place("f", 10), p.place("g", 20), p.place("h", 30)
	p.add(4, nil, f, f, f, main)
	p.add(3, nil, g, f, g, f, main)
	p.add(2, nil, h, g, f, h, main)
	p.add(1, nil, main)
	return p
}

// Calls that are inlined up to five deep, and one function that stands at several lines.
func inlining() *profile {
	p := base()
	main := p.place("main", 1)
	for i := 0; i < 40; i++ {
		p.functions = append(p.functions, function{fmt.Sprintf("in%d", i%12), fmt.Sprintf("_Z%d", i%12), made("in.c"), int64(i%12) * 10})
		last := len(p.functions) - 1
		at := location{1, uint64(0x420000 + i), nil}
		for j := 0; j <= i%5 && j < last; j++ {
			at.lines = append(at.lines, line{last - j, int64(i + j)})
		}
		p.locations = append(p.locations, at)
		p.add(int64(i+1), nil, len(p.locations)-1, main)
		p.add(int64(i+2), nil, len(p.locations)-1, len(p.locations)-2, main)
	}
	return p
}

func labels() *profile {
	p := base()
	main, work := p.place("main", 1), p.place("work", 10)
	text := func(key, value string) label { return label{key: key, text: value} }
	num := func(key string, value int64, unit string) label { return label{key, unit, value, true} }
	p.add(1, []label{text("thread", "a")}, work, main)
	p.add(2, []label{text("thread", "b")}, work, main)
	p.add(4, []label{text("thread", "b"), text("odd key/é", "ünï\"cødé\n")}, work, main)
	p.add(8, []label{num("bytes", 64, "")}, work, main)
	p.add(16, []label{num("bytes", 64, "bytes"), num("id", -7, "")}, work, main)
	p.add(32, []label{text("id", "-7")}, work, main)
	p.add(64, []label{text("many", "1"), text("many", "2")}, work, main)
	p.add(128, nil, work, main)
	return p
}

// Code at places that the loader chose, without symbols for some of it.
func positions() *profile {
	p := base()
	p.mappings = []mapping{
		{0x555555554000, 0x555555600000, 0x1000, "/bin/pie", "abcd"},
		{0x7ffff7a00000, 0x7ffff7c00000, 0, "/lib/libc.so.6", ""},
		{0xffffffff81000000, 0xffffffffffffffff, 0xffffffff81000000, "[kernel.kallsyms]", "fe"},
	}
	main := p.place("main", 1)
	p.locations[main].address = 0x555555554123
	for i := 0; i < 30; i++ {
		at := location{1 + i%3, p.mappings[i%3].start + uint64(64*i), nil}
		p.locations = append(p.locations, at)
		p.add(int64(i+1), nil, len(p.locations)-1, main)
	}
	p.locations = append(p.locations, location{0, 0x1234, nil})
	p.add(5, nil, len(p.locations)-1, main)
	return p
}

func names() *profile {
	p := base()
	for _, name := range []string{"std::vector<int, std::allocator<int> >::push_back(int&&)", "operator new(unsigned long)", "Ω λ",
		"constructor", "a;b", "<lambda at /src/x.cc:12:3>", "(anonymous namespace)::f(char const*)"} {
		p.add(int64(len(name)), nil, p.place(name, 5), p.place("main", 1))
	}
	p.functions = append(p.functions, function{"main", "main", made("other.c"), 9})
	p.locations = append(p.locations, location{1, 0x410000, []line{{len(p.functions) - 1, 11}}})
	p.add(3, nil, len(p.locations)-1)
	p.add(100, nil)
	return p
}

// Everything that a file may say beside its samples; its first type is the default one.
func noted() *profile {
	p := base()
	p.notes = notes{defaultType: "samples", docURL: "https://example.org/profiles", comments: []string{"built with -O2", "ünï", "a second run"}}
	p.add(3, nil, p.place("work", 10), p.place("main", 1))
	return p
}

// Frames that are to be dropped: alone, inlined, inlined into others, above all others, with arguments, at several places.
func dropped() *profile {
	p := base()
	p.notes = notes{dropFrames: `malloc|operator new(\[\])?|.*::allocate|\(anonymous namespace\)::get|runtime\..*`, keepFrames: `runtime\.panic|kept::.*`}
	inline := func(places ...int) int {
		at := location{1, uint64(0x430000 + len(p.locations)), nil}
		for _, place := range places {
			at.lines = append(at.lines, p.locations[place].lines...)
		}
		p.locations = append(p.locations, at)
		return len(p.locations) - 1
	}
	main, work := p.place("main", 1), p.place("work", 10)
	malloc, brk, fresh := p.place("malloc", 20), p.place("brk", 30), p.place("operator new[](unsigned long)", 40)
	pool, kept := p.place("pool<int (*)(long)>::allocate(int)", 50), p.place("kept::allocate", 60)
	get, call, start := p.place("(anonymous namespace)::get(int)", 70), p.place("call::operator()(int)", 80), p.place("runtime.start", 90)
	panicking := p.place("runtime.panic", 100)
	p.add(1, nil, brk, malloc, work, main)
	p.add(2, nil, malloc, main)
	p.add(4, nil, brk, malloc, fresh, work, main)
	p.add(8, nil, work, start)
	p.add(16, nil, malloc, start)
	p.add(32, nil, brk, inline(malloc, work), main)
	p.add(64, nil, brk, inline(brk, malloc, work), work, main)
	p.add(128, nil, brk, inline(work, malloc), main)
	p.add(256, nil, kept, pool, work, main)
	p.add(512, nil, brk, kept, work, main)
	p.add(1024, nil, brk, get, call, main)
	p.add(2048, nil, panicking, work, start, start, main)
	p.add(4096, nil, brk, work, malloc, work, malloc, main)
	p.add(8192, nil, work, inline(malloc, start), start)
	return p
}

// count different stacks of a random tree.
func wide(count int) *profile {
	random := rand.New(rand.NewSource(1))
	p := base()
	p.types = p.types[:1]
	for i := 0; i < 3000; i++ {
		p.place(fmt.Sprintf("function%d", i), int64(i))
	}
	for i := 0; i < count; i++ {
		stack := []int{0}
		for at, depth := 0, 5+random.Intn(40); depth > 0; depth-- {
			at = (at*31 + 1 + random.Intn(3)) % len(p.locations)
			stack = append([]int{at}, stack...)
		}
		p.add(1+random.Int63n(100), nil, stack...)
	}
	return p
}

// --- the runtime's own profiles -----------------------------------------------------------------------------------

//go:noinline
func fibonacci(n int) int {
	if n < 2 {
		return n
	}
	return fibonacci(n-1) + fibonacci(n-2)
}

func inlined(text string) int { return len(strings.Split(strings.Repeat(text, 2000), ",")) }

var kept [][]byte

func work(until time.Time) (sum int) {
	for i := 0; time.Now().Before(until); i++ {
		sum += fibonacci(20) + inlined("a,b")
		kept = append(kept, make([]byte, 64+i%4096))
	}
	return sum
}

func contend() {
	var mutex sync.Mutex
	var group sync.WaitGroup
	for i := 0; i < 4; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for j := 0; j < 50; j++ {
				mutex.Lock()
				time.Sleep(100 * time.Microsecond)
				mutex.Unlock()
			}
		}()
	}
	group.Wait()
}

func runtimeProfiles() []file {
	runtime.MemProfileRate = 4096
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1000)
	var out bytes.Buffer
	pprof.StartCPUProfile(&out)
	pprof.Do(context.Background(), pprof.Labels("worker", "a", "thread-id", "7"), func(context.Context) { work(time.Now().Add(time.Second)) })
	contend()
	work(time.Now().Add(time.Second / 2))
	pprof.StopCPUProfile()
	files := []file{{name: "go-cpu", bytes: out.Bytes(), sources: "."}}
	for _, name := range []string{"heap", "allocs", "goroutine", "mutex", "block", "threadcreate"} {
		var one bytes.Buffer
		pprof.Lookup(name).WriteTo(&one, 0)
		files = append(files, file{name: "go-" + name, bytes: one.Bytes(), sources: "."})
	}
	return files
}

func testSet() []file {
	made := []struct {
		name string
		make func() *profile
	}{
		{"empty", empty}, {"one", one}, {"negative", negative}, {"deep", deep}, {"recursion", recursion}, {"inlining", inlining},
		{"labels", labels}, {"positions", positions}, {"names", names}, {"notes", noted}, {"drop-frames", dropped},
		{"wide", func() *profile { return wide(2000) }},
		{"wide-100k", func() *profile { return wide(100000) }},
	}
	files := runtimeProfiles()
	for _, m := range made {
		files = append(files, file{name: m.name, bytes: m.make().encode(), sources: "."})
	}
	return append(files, legacyFiles()...)
}
