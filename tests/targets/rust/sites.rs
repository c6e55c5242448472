// SPDX-License-Identifier: GPL-2.0-or-later
// Sites of known counts and bytes. For rustc 1.63 and later, with nothing but the standard library.
#![allow(unused)]
use std::convert::TryInto;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;

/// Hides a value from the optimiser, as std::hint's does, which compilers have since 1.66.
#[inline(always)]
fn black_box<T>(value: T) -> T {
    unsafe {
        let seen = std::ptr::read_volatile(&value);
        std::mem::forget(value);
        seen
    }
}

pub mod store {
    use super::black_box;
    pub struct Cache<T> {
        pub kept: Vec<T>,
    }
    impl<T: Clone> Cache<T> {
        #[inline(never)]
        pub fn fill(&mut self, count: usize, value: T) {
            self.kept = Vec::with_capacity(count);
            for _ in 0..count {
                self.kept.push(value.clone());
            }
        }
    }

    pub trait Make {
        fn make(&self) -> Box<[u8; 48]>;
    }
    pub struct Maker;
    impl Make for Maker {
        #[inline(never)]
        fn make(&self) -> Box<[u8; 48]> {
            black_box(Box::new([1; 48]))
        }
    }
    impl Drop for Maker {
        #[inline(never)]
        fn drop(&mut self) {
            std::mem::forget(black_box(Box::new([2u8; 56])));
        }
    }
}
use store::Make;

#[inline(never)]
fn boxes(count: usize) {
    for _ in 0..count {
        std::mem::forget(black_box(Box::new([1u64; 4])));
    }
}

#[inline(never)]
fn forgotten_vec() {
    let mut v: Vec<u32> = Vec::with_capacity(25);
    v.push(1);
    std::mem::forget(black_box(v));
}

#[inline(never)]
fn grown(limit: u64) -> u64 {
    let mut v: Vec<u64> = Vec::new();
    for i in 0..limit {
        v.push(black_box(i));
    }
    let sum = v.iter().sum();
    std::mem::forget(v);
    sum
}

#[inline(never)]
fn zeroed(bytes: usize) {
    std::mem::forget(black_box(vec![0u8; bytes]));
}

#[repr(align(128))]
struct Wide([u8; 256]);
#[inline(never)]
fn wide() {
    std::mem::forget(black_box(Box::new(Wide([3; 256]))));
}
#[repr(align(64))]
#[derive(Clone)]
struct Line(#[allow(dead_code)] [u8; 64]);
#[inline(never)]
fn wide_grown() {
    let mut v: Vec<Line> = Vec::with_capacity(1);
    for _ in 0..3 {
        v.push(black_box(Line([4; 64])));
    }
    std::mem::forget(v);
}

struct Node {
    other: RefCell<Option<Rc<Node>>>,
    #[allow(dead_code)]
    weight: [u8; 40],
}
#[inline(never)]
fn ring() {
    let one = Rc::new(Node { other: RefCell::new(None), weight: [0; 40] });
    let two = Rc::new(Node { other: RefCell::new(Some(one.clone())), weight: [0; 40] });
    *one.other.borrow_mut() = Some(two);
}
#[inline(never)]
fn shared() {
    let one = Arc::new([7u8; 84]);
    std::mem::forget(black_box(one.clone()));
}
#[inline(never)]
fn weakly() -> Weak<[u8; 24]> {
    let strong = Rc::new([1u8; 24]);
    let weak = Rc::downgrade(&strong);
    drop(strong);
    weak
}

#[inline(never)]
fn panics(number: usize) {
    let held = black_box(Box::new([5u8; 33]));
    if number > 0 {
        std::panic::resume_unwind(Box::new(held[0]));
    }
}
#[inline(never)]
fn unwound(count: usize) {
    for _ in 0..count {
        assert!(std::panic::catch_unwind(|| panics(1)).is_err());
    }
}

#[inline(never)]
fn in_thread() {
    std::mem::forget(black_box(Box::new([1u8; 72])));
}

#[inline(never)]
fn call<F: Fn() -> Box<[u8; 88]>>(f: F) {
    std::mem::forget(black_box(f()));
}
#[inline(never)]
fn with_closure(value: u8) {
    call(
        #[inline(never)]
        move || Box::new([black_box(value); 88]),
    );
}
#[inline(never)]
fn generic<T: Default, const N: usize>() -> [Box<T>; N]
where
    [Box<T>; N]: Sized,
{
    let made: Vec<Box<T>> = (0..N).map(|_| Box::new(T::default())).collect();
    match made.try_into() {
        Ok(it) => it,
        Err(_) => unreachable!(),
    }
}

fn main() {
    boxes(100);
    forgotten_vec();
    black_box(grown(1000));
    zeroed(5000);
    wide();
    wide_grown();
    ring();
    shared();
    std::mem::forget(weakly());
    unwound(10);
    let threads: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(|| {
                for _ in 0..25 {
                    in_thread()
                }
            })
        })
        .collect();
    for t in threads {
        t.join().unwrap();
    }
    with_closure(3);
    std::mem::forget(generic::<[u16; 8], 5>());
    let mut cache = store::Cache { kept: Vec::new() };
    cache.fill(10, String::from("eleven char"));
    std::mem::forget(cache);
    {
        let maker = store::Maker;
        std::mem::forget(black_box(&maker as &dyn Make).make());
    }
    let mut map: HashMap<u32, u32> = HashMap::new();
    map.insert(1, 2);
    std::mem::forget(map);
}
