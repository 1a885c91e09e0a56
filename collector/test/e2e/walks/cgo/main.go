// Go calls C, which calls Go, which calls C: all of the CPU time goes into the last one.
//
//	cgo MS
package main

/*
#include <time.h>

extern void between_go(long ms);

static volatile unsigned sink;

__attribute__((noinline)) static void
burn_in_c(long ms)
{
	clock_t until = clock() + ms * (CLOCKS_PER_SEC / 1000);
	unsigned value = sink;

	while (clock() < until)
	{
		for (unsigned i = 0; i < 100000; i++)
			value = value * 1664525u + 1013904223u;
		sink = value;
	}
}

__attribute__((noinline)) static void
call_back(long ms)
{
	between_go(ms);
	sink++;
}
*/
import "C"

import (
	"os"
	"strconv"
)

//export between_go
func between_go(ms C.long) {
	C.burn_in_c(ms)
}

func main() {
	ms, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	C.call_back(C.long(ms))
}
