// SPDX-License-Identifier: GPL-2.0-or-later

// A program in Go that allocates by C, too: 50 blocks of 776 bytes by malloc, which stay, and as many objects of Go.
package main

// #include <stdlib.h>
// static __attribute__((noinline)) void *allocate_c(void) { return malloc(776); }
import "C"

import (
	"bufio"
	"fmt"
	"os"
	"unsafe"
)

var fromC []unsafe.Pointer
var fromGo [][]byte

//go:noinline
func allocateBoth() {
	for i := 0; i < 50; i++ {
		fromC = append(fromC, C.allocate_c())
		fromGo = append(fromGo, make([]byte, 4000))
	}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	fmt.Println("ready", os.Getpid())
	for lines.Scan() {
		allocateBoth()
		fmt.Println("done")
	}
}
