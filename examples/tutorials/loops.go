// SPDX-License-Identifier: GPL-2.0-or-later

// Which function allocates? The question of the Go blog's "Profiling Go Programs": a search of a graph that makes a map
// for each call, where a slice that is used again would do. Writes a heap profile to the file that is named.
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

type block struct{ next []*block }

func search(blocks []*block) int {
	number := make(map[*block]int)
	for i, b := range blocks {
		number[b] = i
	}
	loops := 0
	for i, b := range blocks {
		for _, n := range b.next {
			if number[n] <= i {
				loops++
			}
		}
	}
	return loops
}

func build(count int) []*block {
	blocks := make([]*block, count)
	for i := range blocks {
		blocks[i] = &block{}
	}
	for i := range blocks {
		blocks[i].next = []*block{blocks[(i+1)%count], blocks[i/2]}
	}
	return blocks
}

func main() {
	blocks := build(5000)
	for i := 0; i < 200; i++ {
		search(blocks)
	}
	runtime.GC()
	file, err := os.Create(os.Args[1])
	if err == nil {
		err = pprof.Lookup("allocs").WriteTo(file, 0)
	}
	if err != nil {
		panic(err)
	}
	runtime.KeepAlive(blocks)
}
