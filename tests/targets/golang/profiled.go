// SPDX-License-Identifier: GPL-2.0-or-later

package main

import (
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
)

func init() {
	if rate, err := strconv.Atoi(os.Getenv("RATE")); err == nil {
		runtime.MemProfileRate = rate
	}
	profile = func(path string) {
		file, err := os.Create(path)
		if err == nil {
			err = pprof.Lookup("heap").WriteTo(file, 0)
		}
		if err == nil {
			err = file.Close()
		}
		if err != nil {
			panic(err)
		}
	}
}
