// SPDX-License-Identifier: GPL-2.0-or-later
// Tells its number, and for each line "go" does what is known, with the allocator that --cfg names (rjem, mi), or the system's.
#![allow(unused, private_interfaces, improper_ctypes)]
use std::alloc::{GlobalAlloc, Layout};
use std::io::{BufRead, Write};

#[inline(always)]
fn black_box<T>(value: T) -> T {
    unsafe {
        let seen = std::ptr::read_volatile(&value);
        std::mem::forget(value);
        seen
    }
}

/// As tikv-jemallocator calls jemalloc.
#[cfg(rjem)]
mod linked {
    use std::alloc::{GlobalAlloc, Layout};
    use std::os::raw::{c_int, c_void};
    extern "C" {
        fn _rjem_malloc(size: usize) -> *mut c_void;
        fn _rjem_calloc(count: usize, size: usize) -> *mut c_void;
        fn _rjem_realloc(block: *mut c_void, size: usize) -> *mut c_void;
        fn _rjem_mallocx(size: usize, flags: c_int) -> *mut c_void;
        fn _rjem_rallocx(block: *mut c_void, size: usize, flags: c_int) -> *mut c_void;
        fn _rjem_sdallocx(block: *mut c_void, size: usize, flags: c_int);
    }
    const ZERO: c_int = 0x40;
    fn flags(layout: Layout) -> c_int {
        if layout.align() <= 16 && layout.align() <= layout.size() {
            0
        } else {
            layout.align().trailing_zeros() as c_int
        }
    }
    pub struct Linked;
    unsafe impl GlobalAlloc for Linked {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            match flags(layout) {
                0 => _rjem_malloc(layout.size()) as *mut u8,
                flags => _rjem_mallocx(layout.size(), flags) as *mut u8,
            }
        }
        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            match flags(layout) {
                0 => _rjem_calloc(1, layout.size()) as *mut u8,
                flags => _rjem_mallocx(layout.size(), flags | ZERO) as *mut u8,
            }
        }
        unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            match flags(layout) {
                0 => _rjem_realloc(block as *mut c_void, size) as *mut u8,
                flags => _rjem_rallocx(block as *mut c_void, size, flags) as *mut u8,
            }
        }
        unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
            _rjem_sdallocx(block as *mut c_void, layout.size(), flags(layout))
        }
    }
}

/// As the crate mimalloc calls it.
#[cfg(mi)]
mod linked {
    use std::alloc::{GlobalAlloc, Layout};
    use std::os::raw::c_void;
    extern "C" {
        fn mi_malloc_aligned(size: usize, alignment: usize) -> *mut c_void;
        fn mi_zalloc_aligned(size: usize, alignment: usize) -> *mut c_void;
        fn mi_realloc_aligned(block: *mut c_void, size: usize, alignment: usize) -> *mut c_void;
        fn mi_free(block: *mut c_void);
    }
    pub struct Linked;
    unsafe impl GlobalAlloc for Linked {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            mi_malloc_aligned(layout.size(), layout.align()) as *mut u8
        }
        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            mi_zalloc_aligned(layout.size(), layout.align()) as *mut u8
        }
        unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            mi_realloc_aligned(block as *mut c_void, size, layout.align()) as *mut u8
        }
        unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
            mi_free(block as *mut c_void)
        }
    }
}

#[cfg(any(rjem, mi))]
#[global_allocator]
static LINKED: linked::Linked = linked::Linked;

#[inline(never)]
fn boxes(count: usize) {
    for _ in 0..count {
        std::mem::forget(black_box(Box::new([1u64; 4])));
    }
}
#[inline(never)]
fn passing(count: usize) {
    for _ in 0..count {
        drop(black_box(Box::new([1u8; 50])));
    }
}
#[inline(never)]
fn grown(limit: u64) {
    let mut v: Vec<u64> = Vec::with_capacity(4);
    for i in 0..limit {
        v.push(black_box(i));
    }
    std::mem::forget(v);
}
#[inline(never)]
fn zeroed(bytes: usize) {
    std::mem::forget(black_box(vec![0u8; bytes]));
}
#[repr(align(128))]
#[derive(Clone)]
struct Wide([u8; 128]);
#[inline(never)]
fn wide(count: usize) {
    let mut v: Vec<Wide> = Vec::with_capacity(1);
    for _ in 0..count {
        v.push(black_box(Wide([3; 128])));
    }
    std::mem::forget(v);
}
#[inline(never)]
fn in_thread() {
    std::mem::forget(black_box(Box::new([1u8; 72])));
}

fn main() {
    println!("ready {}", std::process::id());
    for line in std::io::stdin().lock().lines() {
        if line.unwrap().starts_with("end") {
            return;
        }
        boxes(100);
        passing(10);
        grown(64);
        zeroed(5000);
        wide(3);
        let threads: Vec<_> = (0..2).map(|_| std::thread::spawn(|| (0..25).for_each(|_| in_thread()))).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        println!("go 1");
        std::io::stdout().flush().unwrap();
    }
}
