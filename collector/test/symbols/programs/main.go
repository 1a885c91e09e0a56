// Methods, closures, generic functions and goroutines; small functions are inlined into each other.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

type shape interface{ area() float64 }

type square struct{ side float64 }

type circle struct{ radius float64 }

func double[T int | float64](x T) T { return x + x }

func (s square) area() float64 { return s.side * s.side }

func (c *circle) area() float64 { return 3.14 * double(c.radius) * c.radius }

func weight(word string) int { return double(len(word)) + strings.Count(word, "o") }

//go:noinline
func count(text string) map[string]int {
	counts := map[string]int{}
	for _, word := range strings.Fields(text) {
		counts[strings.ToLower(word)] += weight(word)
	}
	return counts
}

//go:noinline
func keys[K ~string, V any](m map[K]V) []K {
	all := make([]K, 0, len(m))
	for k := range m {
		all = append(all, k)
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	return all
}

func main() {
	results := make(chan float64)
	for _, s := range []shape{square{2}, &circle{float64(len(os.Args))}} {
		go func() {
			defer func() { _ = recover() }()
			results <- s.area()
		}()
	}
	counts := count(strings.Repeat("some Words of a text ", len(os.Args)))
	fmt.Println(<-results+<-results, keys(counts), counts)
}
