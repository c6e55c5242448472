// SPDX-License-Identifier: GPL-2.0-or-later

// Sorts the pairs of a file and prints the middle one.
package main

import (
	"bufio"
	"fmt"
	"os"
	"sort"
)

type pair struct{ first, second int }

func fail(status int, text string) {
	fmt.Fprintln(os.Stderr, text)
	os.Exit(status)
}

func main() {
	if len(os.Args) != 2 {
		fail(2, "usage: sort_pairs FILE")
	}
	file, err := os.Open(os.Args[1])
	if err != nil {
		fail(1, err.Error())
	}
	var pairs []pair
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var p pair
		if _, err := fmt.Sscan(lines.Text(), &p.first, &p.second); err != nil {
			fail(1, err.Error())
		}
		pairs = append(pairs, p)
	}
	if len(pairs) == 0 {
		fail(1, "sort_pairs: "+os.Args[1]+": no pairs")
	}
	sort.Slice(pairs, func(i, j int) bool {
		if pairs[i].first != pairs[j].first {
			return pairs[i].first < pairs[j].first
		}
		return pairs[i].second < pairs[j].second
	})
	middle := pairs[len(pairs)/2]
	fmt.Println(middle.first, middle.second)
}
