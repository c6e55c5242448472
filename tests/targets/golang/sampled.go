// SPDX-License-Identifier: GPL-2.0-or-later

// A program in Go that allocates what it is told on standard input, and answers each line. With profiled.go it has
// runtime/pprof in it; without, its runtime takes no samples by itself.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
)

const leaked, churned = 1024, 3000

var kept = make([][]byte, 0, 1<<20)
var last []byte

//go:noinline
func leakBlocks(count int) {
	for i := 0; i < count; i++ {
		kept = append(kept, make([]byte, leaked))
	}
}

// Both are inlined into churnBlocks.
func makeBlock(size int) []byte { return make([]byte, size) }
func keepBlock(size int)        { last = makeBlock(size) }

//go:noinline
func churnBlocks(count int) {
	for i := 0; i < count; i++ {
		keepBlock(churned + i%7)
	}
}

type node struct{ next *node }

//go:noinline
func deepBlocks(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{deepBlocks(depth - 1)}
}

var nodes []*node

// Writes the heap profile; of profiled.go.
var profile = func(path string) {}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	fmt.Println("ready", os.Getpid())
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		number := 0
		if len(words) > 1 {
			number, _ = strconv.Atoi(words[1])
		}
		switch words[0] {
		case "leak":
			leakBlocks(number)
		case "churn":
			churnBlocks(number)
		case "deep":
			nodes = append(nodes, deepBlocks(number))
		case "drop":
			kept = nil
		case "gc":
			runtime.GC()
		case "set":
			runtime.MemProfileRate = number
		case "profile":
			debug.SetGCPercent(-1)
			runtime.GC()
			runtime.GC()
			profile(words[1])
		case "exec":
			syscall.Exec("/bin/sleep", []string{"sleep", "1000"}, nil)
		}
		fmt.Println("done", runtime.MemProfileRate)
	}
}
