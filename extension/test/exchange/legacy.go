// Formats of before protobuf. Those that nothing writes today are made here; gperftools' own come from programs/cpp, Go's from this
// program.
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync"
)

const memoryMap = `build=/opt/made-up
00400000-00500000 r--p 00000000 08:01 12 $build/bin/work
00500000-00600000 r-xp 00100000 08:01 12 $build/bin/work
00600000-00700000 r-xp 00200000 08:01 12 $build/bin/work
7f00aa028000-7f00aa100000 r-xp 00028000 08:01 13 /lib/libc.so.6
7f00aa200000-7f00aa300000 rw-p 00000000 00:00 0
map.cc:12] 7f00bb000000-7f00bb100000 r-xp 00001000 08:01 14 /lib/libx-2.so
`

// Words of a profile of processor time: the second frame is the handler's in all samples but one of 40, some leafs are there twice.
func cpuWords(java bool) []uint64 {
	kind := uint64(0)
	if java {
		kind = 1
	}
	words := []uint64{0, 3, kind, 10000, 0}
	for i := uint64(0); i < 40; i++ {
		leaf := 0x500100 + 16*(i%7)
		stack := []uint64{leaf, 0x610000, leaf + i%2, 0x500800 + 16*(i%3), 0x28aa}
		if i == 39 {
			stack = stack[2:]
		}
		words = append(append(words, i+1, uint64(len(stack))), stack...)
	}
	return append(words, 0, 1, 0)
}

func cpuFile(order binary.ByteOrder, width int, words []uint64, text string) []byte {
	var out bytes.Buffer
	for _, word := range words {
		if width == 4 {
			binary.Write(&out, order, uint32(word))
		} else {
			binary.Write(&out, order, word)
		}
	}
	out.WriteString(text)
	return out.Bytes()
}

const javaNames = `
 0x500100 com.example.Work.run (Work.java:12)
   0x500110 com.example.Work$1.lambda (Work.java:-1)
 0x500120 start_thread (/lib/x86_64/libpthread.so.0)
 0x500130 generated stub/JIT
 0x500800 GC
 0x28aa   com.example.Work.main (Work.java:40)
 0x99     com.example.Work.never (Work.java:41)
`

func legacyFiles() []file {
	// pprof gives no address a range before the one that a map has, once it has met one outside of all
	wide := []uint64{0, 3, 0, 10000, 0, 7, 3, 0x7f00aa028123, 0x7f00bb000010, 0x7f00aa000020, 11, 1, 0x500100, 9, 2, 0xffffffffff600000, 0, 0, 1, 0}
	heapRows := "     1:      100 [     4:      400] @ 0x00500124 0x00600201\n  2: 2000 [ 2: 2000] @ 0x7f00aa028124 0x00500124\n # nothing\n"
	usedRows := "     1:      100 [     1:      100] @ 0x00500124 0x00600201\n  2: 2000 [ 2: 2000] @ 0x7f00aa028124 0x00500124\n"
	files := []file{
		{name: "before-cpu-32-little", bytes: cpuFile(binary.LittleEndian, 4, cpuWords(false), memoryMap)},
		{name: "before-cpu-32-big", bytes: cpuFile(binary.BigEndian, 4, cpuWords(false), memoryMap)},
		{name: "before-cpu-64-little", bytes: cpuFile(binary.LittleEndian, 8, wide, memoryMap)},
		{name: "before-cpu-64-big", bytes: cpuFile(binary.BigEndian, 8, wide, memoryMap)},
		{name: "before-cpu-java", bytes: cpuFile(binary.LittleEndian, 8, cpuWords(true), javaNames)},
		{name: "before-heap", bytes: []byte("heap profile:   3:  2100 [   6:  2400] @ heapprofile\n" + heapRows + "\nMAPPED_LIBRARIES:\n" + memoryMap)},
		{name: "before-heap-v2", bytes: []byte("heap profile: 3: 2100 [ 6: 2400] @ heap_v2/4096\n" + heapRows + "\nMAPPED_LIBRARIES:\n" + memoryMap)},
		{name: "before-heap-used", bytes: []byte("heap profile: 3: 2100 [ 3: 2100] @ heap/8192\n" + usedRows + "\n--- Memory map: ---\n" +
			"40000-600000: /bin/brief (@1000) abcdef\n7f00aa000000-7f00ab000000 /lib/libc.so.6\n")},
		{name: "before-growth", bytes: []byte("heap profile: 3: 2100 [ 3: 2100] @ growthz\n" + usedRows + "MAPPED_LIBRARIES:\n" + memoryMap)},
		{name: "before-threads", bytes: []byte("--- threadz 1 ---\n\n--- Thread 7f0a (name: main/12) stack: ---\n  0x00500124 0x00500124\n  PC: 0x00600201 main\n" +
			"--- Thread 7f0b (name: other/13) stack: ---\n  [same as previous thread]\n--- Thread 7f0c (name: third/14) stack: ---\n  0x00500300\n\n" +
			"--- Memory map: ---\n" + memoryMap)},
		{name: "before-contention", bytes: []byte("--- contentionz 1 ---\ncycles/second = 2000000000\nsampling period = 100\nms since reset = 6000\n" +
			"discarded samples = 0\n  4001 3 @ 0x00500124 0x00600201\n 12345 1 @ 0x00600201\n--- Memory map: ---\n" + memoryMap)},
		{name: "before-contention-java", bytes: []byte("--- contentionz 1 ---\nformat = java\nresolution = microseconds\nsampling period = 100\nms since reset = 6000\n" +
			"  12 3 @ 0x500100 0x28aa\n 7 1 @ 0x500120 0x28aa\n" + javaNames)},
		{name: "before-heap-java", bytes: []byte("--- heapz 1 ---\nformat = java\nresolution = bytes\n  704800 5 @ 0x500100 0x28aa\n 9000000 2 @ 0x500130 0x500800\n" +
			javaNames)},
	}
	for i := range files {
		files[i].plain = true
	}
	return files
}

// --- the text that Go writes --------------------------------------------------------------------------------------------

//go:noinline
func parkedInside(wait chan bool) { <-wait }

func parkedInlined(wait chan bool) { parkedInside(wait) }

//go:noinline
func parked(wait chan bool) { parkedInlined(wait) }

// Both forms of a profile, of one moment.
func bothForms(name string) (text, proto []byte) {
	var forms [2]bytes.Buffer
	for i := range forms {
		pprof.Lookup(name).WriteTo(&forms[i], 1-i)
	}
	return forms[0].Bytes(), forms[1].Bytes()
}

// Totals of functions of this program: the goroutine that writes a profile is elsewhere in each form.
func totalsOf(values map[string][]int64) map[string][]int64 {
	totals := map[string][]int64{}
	for name, v := range values {
		if strings.HasPrefix(name, "main.parked") || strings.HasPrefix(name, "main.contend") || strings.HasPrefix(name, "main.work") {
			totals[name] = v[1:]
		}
	}
	return totals
}

// Stacks of addresses, whatever they are called.
func addressSums(raw *rawProfile, kind int) map[string][]int64 {
	sums := map[string][]int64{}
	for _, s := range raw.samples {
		var key strings.Builder
		for _, id := range s.locations {
			fmt.Fprintf(&key, "%#x ", raw.locations[id].address)
		}
		if sums[key.String()] == nil {
			sums[key.String()] = []int64{0}
		}
		sums[key.String()][0] += s.values[kind]
	}
	return withoutZeros(sums)
}

// Values and stacks are those of "go tool pprof", functions, which it does not read of text, those of the other form.
func checkGoTexts() {
	var group sync.WaitGroup
	wait := make(chan bool)
	for i := 0; i < 20; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			parked(wait)
		}()
	}
	for pprofCount("main.parkedInside") < 20 {
		runtime.Gosched()
	}
	// a profile of the heap is that of the last collection
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for _, name := range []string{"goroutine", "heap", "mutex", "block"} {
		text, proto := bothForms(name)
		profileName := "text_" + name
		paths := [2]string{filepath.Join(directory, "text-"+name), filepath.Join(directory, "proto-"+name)}
		for i, content := range [][]byte{text, proto} {
			if err := os.WriteFile(paths[i], content, 0o644); err != nil {
				fatal("%v", err)
			}
		}
		importFile(text, profileName, "NULL")
		raw := readRaw(paths[0])
		for kind, typeAndUnit := range raw.types {
			selector := quote(profileTypeOf(profileName, typeAndUnit))
			exported := readRaw(export(selector, forever))
			label := "go text " + name + " " + typeAndUnit
			test(label+": stacks are -raw", differences(addressSums(raw, kind), addressSums(exported, 0)))
			if strings.HasPrefix(typeAndUnit, "delay") {
				continue // rounded for each stack in one form, for each sum of them in the other
			}
			short, unit := strings.Split(typeAndUnit, "/")[0], unitFlag(typeAndUnit)
			got := table(query("SELECT function, self, total FROM profstore.top(%s, %s, 10000000)", selector, forever), 1)
			want := totalsOf(reportTop("-sample_index="+short, unit, paths[1]))
			problems := differences(withoutZeros(want), withoutZeros(totalsOf(got)))
			if len(want) == 0 && typeAndUnit != "inuse_objects/count" && typeAndUnit != "inuse_space/bytes" {
				problems = append(problems, "none of the functions is there")
			}
			test(label+": functions are those of protobuf", problems)
		}
		query("TRUNCATE profstore.samples")
	}
	close(wait)
	group.Wait()
}

// How many goroutines are in a function.
func pprofCount(function string) int {
	var text bytes.Buffer
	pprof.Lookup("goroutine").WriteTo(&text, 2)
	return strings.Count(text.String(), function+"(")
}
