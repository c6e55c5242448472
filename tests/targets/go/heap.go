// SPDX-License-Identifier: GPL-2.0-or-later
// heap FILE [MORE]: a heap profile of itself, with functions that keep, churn and call themselves; MORE
// blocks more in one of them. With the file "cpu" a profile of CPU time instead, to stdout; with "serve"
// it hands its profiles out over HTTP, says where, and keeps more and less meanwhile, until stdin ends.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"time"
)

type node struct {
	next *node
	data [100]byte
}

//go:noinline
func grow(n int) *node {
	var head *node
	for i := 0; i < n; i++ {
		head = &node{next: head}
	}
	return head
}

//go:noinline
func churn(n int) int {
	sum := 0
	for i := 0; i < n; i++ {
		b := make([]byte, 1000+i%3000)
		sum += len(b)
		sink = b
	}
	return sum
}

//go:noinline
func deep(n int) []byte {
	if n == 0 {
		return make([]byte, 1<<20)
	}
	return deep(n - 1)
}

var sink []byte
var keep []interface{}

type shape interface{ area() int }
type square struct{ sides []int }

func (s *square) area() int { return len(s.sides) }

//go:noinline
func shapes(n int) []shape {
	var all []shape
	for i := 0; i < n; i++ {
		all = append(all, func() shape { return &square{make([]int, 50+i%50)} }())
	}
	return all
}

func profileCPU() {
	pprof.StartCPUProfile(os.Stdout)
	churn(200000)
	pprof.StopCPUProfile()
}

// Where the next sample is due has been drawn already, about 512 KiB ahead: one large block takes it, and what
// follows is sampled at the new rate.
func sampleEvery(bytes int) {
	runtime.MemProfileRate = bytes
	sink = make([]byte, 32<<20)
}

// Memory that comes and goes: profiles of two moments differ in both directions.
func serve() {
	sampleEvery(1)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	go http.Serve(listener, nil)
	old := shapes(3000)
	go func() {
		time.Sleep(300 * time.Millisecond)
		old = nil
		for {
			keep = append(keep, grow(100))
			time.Sleep(10 * time.Millisecond)
			runtime.GC()
		}
	}()
	io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(old)
}

func main() {
	if os.Args[1] == "cpu" {
		profileCPU()
		return
	}
	if os.Args[1] == "serve" {
		serve()
		return
	}
	more := 0
	if len(os.Args) > 2 {
		more, _ = strconv.Atoi(os.Args[2])
	}
	sampleEvery(4096)
	keep = append(keep, grow(20000+more), shapes(3000))
	churn(10000)
	for i := 0; i < 5; i++ {
		keep = append(keep, deep(i))
	}
	runtime.GC()
	file, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	pprof.WriteHeapProfile(file)
	file.Close()
	runtime.KeepAlive(keep)
}
