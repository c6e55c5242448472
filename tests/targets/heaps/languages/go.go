// SPDX-License-Identifier: GPL-2.0-or-later

// What is in use of Go's heap, as its runtime says it.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
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

func main() {
	fill()
	tell(os.Args[1])
	if os.Args[2] == "abort" {
		signal := syscall.SIGABRT
		debug.SetTraceback("crash")
		syscall.Kill(os.Getpid(), signal)
	} else {
		os.Stdout.WriteString("ready\n")
	}
	for {
		time.Sleep(time.Hour)
	}
}
