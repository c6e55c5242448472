// SPDX-License-Identifier: GPL-2.0-or-later

// Blocks of C's beside Go's: one that nothing holds, and one that a variable of Go's holds.
package main

/*
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"
	"unsafe"
)

type node struct {
	next *node
	data [5]uint64
}

var list *node
var buffers [][]byte
var names = map[int]string{}

func fill() {
	for i := 0; i < 1000; i++ {
		list = &node{next: list}
		buffers = append(buffers, make([]byte, 100+i%7))
		names[i] = fmt.Sprint("name ", i)
		_ = fmt.Sprint("garbage ", i)
	}
	buffers = append(buffers, make([]byte, 100001))
}

// tell writes what the runtime says is in use: sizes and how many of each, then the bytes of all.
func tell(path string) {
	runtime.GC()
	debug.SetGCPercent(-1)
	var stats runtime.MemStats
	file, _ := os.Create(path)
	runtime.ReadMemStats(&stats)
	for _, class := range stats.BySize {
		fmt.Fprintln(file, class.Size, class.Mallocs-class.Frees)
	}
	fmt.Fprintln(file, "bytes", stats.HeapAlloc)
	fmt.Fprintln(file, "spans", stats.HeapInuse)
	file.Close()
}

var held unsafe.Pointer

//go:noinline
func lose() {
	for i := 0; i < 50; i++ {
		C.malloc(777)
	}
}

func main() {
	fill()
	held = C.malloc(5555)
	lose()
	tell(os.Args[1])
	os.Stdout.WriteString("ready\n")
	for {
		time.Sleep(time.Hour)
	}
}
