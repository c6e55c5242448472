// SPDX-License-Identifier: GPL-2.0-or-later
//
// A program in Go that allocates as much as it can: trees of small nodes, and buffers, of which some stay for a while. Says its
// number, then, for each line of input, how many nanoseconds an allocation took. With an argument it sets runtime.MemProfileRate.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
)

const depth, trees, kept = 12, 200, 16

type node struct {
	left, right *node
	data        []byte
}

func grow(depth int) *node {
	if depth == 0 {
		return &node{data: make([]byte, 48)}
	}
	return &node{grow(depth - 1), grow(depth - 1), nil}
}

func (n *node) count() int {
	if n == nil {
		return 0
	}
	sum := 1 + n.left.count() + n.right.count()
	if n.data != nil {
		sum++
	}
	return sum
}

func main() {
	if len(os.Args) > 1 {
		runtime.MemProfileRate, _ = strconv.Atoi(os.Args[1])
	}
	fmt.Println("ready", os.Getpid())
	var ring [kept]*node
	each := grow(depth).count()
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		began := time.Now()
		for i := 0; i < trees; i++ {
			ring[i%kept] = grow(depth)
		}
		fmt.Println(float64(time.Since(began).Nanoseconds()) / float64(trees*each))
	}
}
