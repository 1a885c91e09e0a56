// Goroutines that sort, allocate and talk over channels, under Go's collector.
package main

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"
)

func work(seed uint32, results chan<- int) {
	words := make([]string, 5000)
	for i := range words {
		seed = seed*1664525 + 1013904223
		words[i] = strconv.FormatUint(uint64(seed), 36)
	}
	sort.Strings(words)
	results <- len(strings.Join(words, " "))
}

func main() {
	seconds, _ := strconv.Atoi(os.Args[1])
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	results := make(chan int)
	total := 0
	for seed := uint32(1); time.Now().Before(end); seed += 4 {
		for i := uint32(0); i < 4; i++ {
			go work(seed+i, results)
		}
		for i := 0; i < 4; i++ {
			total += <-results
		}
	}
	fmt.Fprintln(os.Stderr, total)
}
