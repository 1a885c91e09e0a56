// main SECONDS: so much CPU time under labels that share it 60 : 30, and 10 without any, in a function of each; by goroutines
// that change threads. The 30 are a trace's, too, which is the program's own by its pid.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"sync"
	"syscall"
	"time"
)

//go:noinline
func work(rounds int) (value uint32) {
	value = 1
	for i := 0; i < rounds; i++ {
		value = value*1664525 + 1013904223
	}
	return
}

//go:noinline
func sixty() uint32 { return work(6000000) }

//go:noinline
func thirty() uint32 { return work(3000000) }

//go:noinline
func ten() uint32 { return work(1000000) }

func used() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano())
}

func main() {
	seconds, _ := strconv.Atoi(os.Args[1])
	trace, span := fmt.Sprintf("%032x", os.Getpid()), fmt.Sprintf("%016x", 5)
	var group sync.WaitGroup
	for i := 0; i < 4; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			sum := uint32(0)
			for used() < time.Duration(seconds)*time.Second {
				pprof.Do(context.Background(), pprof.Labels("other", "-", "part", "sixty", "bad", "\xff\x00x"), func(context.Context) { sum += sixty() })
				time.Sleep(0)
				pprof.Do(context.Background(), pprof.Labels("part", "thirty", "trace_id", trace, "span_id", span), func(context.Context) { sum += thirty() })
				sum += ten()
			}
			fmt.Println(sum & 1)
		}()
	}
	group.Wait()
}
