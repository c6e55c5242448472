// SPDX-License-Identifier: GPL-2.0-or-later
//! What Rust's containers and pointers allocate, each block with the name that it is to have; "" where nothing that is
//! still there declares it: what was popped, removed, or of a variant that is no more.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::fs::File;
use std::io::Write;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

pub trait Shape {
    fn area(&self) -> f64;
}
#[repr(C)]
pub struct Circle {
    radius: f64,
    name: String,
    tags: [u64; 9],
}
#[repr(C)]
pub struct Square {
    side: f64,
    label: Box<[u8; 77]>,
}
impl Shape for Circle {
    fn area(&self) -> f64 {
        self.radius * self.radius + self.tags[0] as f64
    }
}
impl Shape for Square {
    fn area(&self) -> f64 {
        self.side * self.side
    }
}

/// What nothing declares any more; one type each, so that no block looks like another's.
pub struct Popped(#[allow(dead_code)] [u64; 31]);
pub struct Replaced(#[allow(dead_code)] [u64; 33]);
pub struct Removed(#[allow(dead_code)] [u64; 35]);
pub struct Rotated(#[allow(dead_code)] [u64; 37]);
pub struct Live(#[allow(dead_code)] [u64; 39]);

#[repr(u8)]
pub enum Tagged {
    Held(Box<Replaced>, u64),
    Small(u8),
}
pub enum Tree {
    Leaf(u32),
    Pair(Box<Tree>, Box<Tree>),
    Text(String),
    Empty,
}
#[allow(dead_code)]
pub struct Held {
    numbers: Vec<u32>,
    text: String,
    names: Vec<String>,
    circle: Box<Circle>,
    shapes: Vec<Box<dyn Shape>>,
    counted: Rc<Circle>,
    shared: Arc<Mutex<Vec<u8>>>,
    counted_shape: Rc<dyn Shape>,
    map: HashMap<u64, String>,
    small_map: HashMap<u8, u16>,
    set: HashSet<u32>,
    tree_map: BTreeMap<u32, String>,
    tree_set: BTreeSet<u64>,
    no_values: BTreeMap<u16, ()>,
    no_keys: BTreeMap<(), u32>,
    ring: VecDeque<Box<Live>>,
    some: Option<Box<[u64; 41]>>,
    none: Option<Box<[u64; 43]>>,
    some_text: Option<String>,
    no_text: Option<String>,
    tree: Tree,
    tagged: Tagged,
    slice: Box<[u16]>,
    boxed_text: Box<str>,
    pairs: Box<[(&'static str, u32)]>,
    popped: Vec<Box<Popped>>,
    removed: HashMap<u64, Box<Removed>>,
    empty: Vec<u64>,
    no_map: HashMap<u64, u64>,
    leaf: Tree,
    tree_text: Tree,
    nothing: Tree,
    wide: Box<u128>,
    leaked: &'static [Leaked],
    leaked_numbers: &'static mut [u32],
    whole: &'static [u64],
    whole_of: Vec<u64>,
    arena: *mut u8,
    in_arena: &'static InArena,
    number: Box<u64>,
    boxed_box: Box<Box<i32>>,
    inner: Option<Option<Box<u16>>>,
    trees: Vec<Tree>,
    aligned: Vec<Box<Aligned>>,
}

/// An allocator that cuts it out of a larger block leaves a little behind it.
#[repr(align(128))]
pub struct Aligned(#[allow(dead_code)] [u64; 48]);

/// What is leaked has no owner but a slice.
#[allow(dead_code)]
pub struct Leaked(u64, String, [u64; 3]);

/// One after the other in a block, each with memory of its own.
#[allow(dead_code)]
pub struct InArena {
    next: Option<&'static InArena>,
    values: Vec<i16>,
    number: u64,
}
const IN_ARENA: usize = 12;
const ARENA_BYTES: usize = 5000;
fn fill_arena(arena: *mut u8) -> &'static InArena {
    let mut last: Option<&'static InArena> = None;
    for i in 0..IN_ARENA {
        let at = unsafe { arena.add(64 + i * 72) as *mut InArena };
        unsafe { at.write(InArena { next: last, values: vec![i as i16; 30], number: i as u64 }) };
        last = Some(unsafe { &*at });
    }
    last.unwrap()
}

/// There is one thread.
struct Kept(Option<Box<Held>>);
unsafe impl Send for Kept {}
static HELD: Mutex<Kept> = Mutex::new(Kept(None));
thread_local! {
    static OF_THREAD: std::cell::RefCell<Vec<[u8; 45]>> = std::cell::RefCell::new(Vec::new());
}
#[cfg(new)]
static ONCE: std::sync::OnceLock<Vec<[u8; 47]>> = std::sync::OnceLock::new();
#[cfg(new)]
static LAZY: std::sync::LazyLock<Mutex<Vec<[u8; 49]>>> = std::sync::LazyLock::new(|| Mutex::new(vec![[1; 49]]));

struct Account(File);
impl Account {
    /// A row as account.h has it.
    fn tell<T: ?Sized>(&mut self, block: *const T, size: usize, kind: &str) {
        let mut row = [0u8; 64];
        let address = !(block as *const u8 as u64);
        row[0..8].copy_from_slice(&address.to_le_bytes());
        row[8..16].copy_from_slice(&(size as u64).to_le_bytes());
        row[16] = b'u';
        row[17] = b'r';
        row[18..18 + kind.len()].copy_from_slice(kind.as_bytes());
        self.0.write_all(&row).unwrap();
    }
}

fn text(n: u32) -> String {
    format!("text number {}", n)
}

fn make() -> Box<Held> {
    let circle = |name: &str| Circle { radius: 2.5, name: name.to_string(), tags: [7; 9] };
    let mut held = Box::new(Held {
        numbers: Vec::with_capacity(100),
        text: "a text that is held".to_string(),
        names: vec!["one".to_string(), "two".to_string()],
        circle: Box::new(circle("of a box")),
        shapes: vec![Box::new(circle("of a trait")), Box::new(Square { side: 3.0, label: Box::new([1; 77]) })],
        counted: Rc::new(circle("counted")),
        shared: Arc::new(Mutex::new(vec![9; 1000])),
        counted_shape: Rc::new(Square { side: 4.0, label: Box::new([2; 77]) }),
        map: HashMap::new(),
        small_map: HashMap::new(),
        set: HashSet::new(),
        tree_map: BTreeMap::new(),
        tree_set: BTreeSet::new(),
        no_values: BTreeMap::new(),
        no_keys: BTreeMap::from([((), 19)]),
        ring: VecDeque::with_capacity(7),
        some: Some(Box::new([3; 41])),
        none: None,
        some_text: Some("some text".to_string()),
        no_text: None,
        tree: Tree::Pair(Box::new(Tree::Leaf(3)), Box::new(Tree::Text("a leaf's text".to_string()))),
        tagged: Tagged::Held(Box::new(Replaced([4; 33])), 5),
        slice: vec![1u16, 2, 3].into_boxed_slice(),
        boxed_text: "boxed text".into(),
        pairs: vec![("first", 1u32), ("second", 2)].into_boxed_slice(),
        popped: Vec::with_capacity(8),
        removed: HashMap::new(),
        empty: Vec::new(),
        no_map: HashMap::new(),
        leaf: Tree::Leaf(17),
        tree_text: Tree::Text("at the top".to_string()),
        nothing: Tree::Empty,
        wide: Box::new(1 << 100),
        leaked: Box::leak((0..5).map(|i| Leaked(i, text(i as u32), [i; 3])).collect::<Vec<_>>().into_boxed_slice()),
        leaked_numbers: Box::leak(vec![7u32; 9].into_boxed_slice()),
        whole: &[],
        whole_of: vec![5; 20],
        arena: std::ptr::null_mut(),
        in_arena: fill_arena(unsafe { std::alloc::alloc_zeroed(std::alloc::Layout::from_size_align(ARENA_BYTES, 16).unwrap()) }),
        number: Box::new(5),
        boxed_box: Box::new(Box::new(-6)),
        inner: Some(Some(Box::new(7))),
        trees: vec![Tree::Leaf(1), Tree::Text("in a tree".to_string()), Tree::Empty],
        aligned: Vec::new(),
    });
    for i in 0..20 {
        held.aligned.push(Box::new(Aligned([i; 48])));
        std::mem::forget(vec![1u8; 40 * (i as usize % 5 + 1)]);
    }
    held.whole = unsafe { std::slice::from_raw_parts(held.whole_of.as_ptr(), 20) };
    held.arena = unsafe { (held.in_arena as *const InArena as *mut u8).sub(64 + (IN_ARENA - 1) * 72) };
    held.numbers.extend(0..60);
    for i in 0..200 {
        held.map.insert(i as u64, text(i));
        held.set.insert(i);
        held.tree_map.insert(i, text(i));
        held.tree_set.insert(i as u64);
        if i < 4 {
            held.no_values.insert(i as u16, ());
        }
    }
    held.small_map.insert(1, 2);
    held
}

/// What is no more, but for its bytes.
fn take_away(held: &mut Held, account: &mut Account) {
    let old = match &held.tagged {
        Tagged::Held(gone, _) => &**gone as *const Replaced,
        Tagged::Small(_) => std::ptr::null(),
    };
    account.tell(old, 33 * 8, "");
    // Only the number and a byte are written.
    unsafe {
        let tag = &mut held.tagged as *mut Tagged as *mut u8;
        *tag = 1;
    }
    for i in 0..5u64 {
        held.popped.push(Box::new(Popped([i; 31])));
        held.removed.insert(i, Box::new(Removed([i; 35])));
    }
    for _ in 0..2 {
        let gone = held.popped.pop().unwrap();
        account.tell(&*gone as *const Popped, 31 * 8, "");
        std::mem::forget(gone);
    }
    for one in held.popped.iter() {
        account.tell(&**one as *const Popped, 31 * 8, "rust::Popped");
    }
    let gone = held.removed.remove(&3).unwrap();
    account.tell(&*gone as *const Removed, 35 * 8, "");
    std::mem::forget(gone);
    for one in held.removed.values() {
        account.tell(&**one as *const Removed, 35 * 8, "rust::Removed");
    }
    // It goes on at its beginning.
    for i in 0..7u64 {
        held.ring.push_back(Box::new(Live([i; 39])));
    }
    for _ in 0..3 {
        drop(held.ring.pop_front());
    }
    for i in 0..2u64 {
        held.ring.push_back(Box::new(Live([i; 39])));
    }
    for one in held.ring.iter() {
        account.tell(&**one as *const Live, 39 * 8, "rust::Live");
    }
}

fn tell_circle(circle: &Circle, account: &mut Account) {
    account.tell(circle.name.as_ptr(), circle.name.capacity(), "String buffer");
}

fn tell(held: &Box<Held>, account: &mut Account) {
    account.tell(&**held as *const Held, std::mem::size_of::<Held>(), "rust::Held");
    account.tell(held.numbers.as_ptr(), 400, "Vec<u32> buffer");
    account.tell(held.text.as_ptr(), held.text.capacity(), "String buffer");
    account.tell(held.names.as_ptr(), 48, "Vec<String> buffer");
    for one in held.names.iter() {
        account.tell(one.as_ptr(), one.capacity(), "String buffer");
    }
    account.tell(&*held.circle as *const Circle, std::mem::size_of::<Circle>(), "rust::Circle");
    tell_circle(&held.circle, account);
    account.tell(held.shapes.as_ptr(), 32, "Vec<Box<dyn rust::Shape>> buffer");
    account.tell(&*held.shapes[0] as *const dyn Shape, std::mem::size_of::<Circle>(), "rust::Circle");
    tell_circle(unsafe { &*(&*held.shapes[0] as *const dyn Shape as *const Circle) }, account);
    account.tell(&*held.shapes[1] as *const dyn Shape, 16, "rust::Square");
    // The counts stand before the value.
    let counts = |value: *const u8| unsafe { value.sub(16) };
    account.tell(counts(&*held.counted as *const Circle as *const u8), 16 + std::mem::size_of::<Circle>(), "Rc block of rust::Circle");
    tell_circle(&held.counted, account);
    account.tell(counts(&*held.shared as *const Mutex<Vec<u8>> as *const u8), 48, "Arc block of Mutex<Vec<u8>>");
    account.tell(held.shared.lock().unwrap().as_ptr(), 1000, "Vec<u8> buffer");
    account.tell(counts(&*held.counted_shape as *const dyn Shape as *const u8), 32, "Rc block of rust::Square");
    for (_, one) in held.map.iter() {
        account.tell(one.as_ptr(), one.capacity(), "String buffer");
    }
    for (_, one) in held.tree_map.iter() {
        account.tell(one.as_ptr(), one.capacity(), "String buffer");
    }
    account.tell(&**held.some.as_ref().unwrap() as *const [u64; 41], 41 * 8, "u64 [41]");
    let some_text = held.some_text.as_ref().unwrap();
    account.tell(some_text.as_ptr(), some_text.capacity(), "String buffer");
    if let Tree::Pair(left, right) = &held.tree {
        account.tell(&**left as *const Tree, std::mem::size_of::<Tree>(), "rust::Tree");
        account.tell(&**right as *const Tree, std::mem::size_of::<Tree>(), "rust::Tree");
        if let Tree::Text(text) = &**right {
            account.tell(text.as_ptr(), text.capacity(), "String buffer");
        }
    }
    if let Tree::Text(text) = &held.tree_text {
        account.tell(text.as_ptr(), text.capacity(), "String buffer");
    }
    account.tell(held.slice.as_ptr(), 6, "Box<[u16]> buffer");
    account.tell(held.boxed_text.as_ptr(), 10, "Box<str> buffer");
    account.tell(held.pairs.as_ptr(), 48, "Box<[(&str, u32)]> buffer");
    account.tell(held.leaked.as_ptr(), held.leaked.len() * std::mem::size_of::<Leaked>(), "rust::Leaked[]");
    for one in held.leaked.iter() {
        account.tell(one.1.as_ptr(), one.1.capacity(), "String buffer");
    }
    account.tell(&*held.wide as *const u128 as *const u8, 16, "u128");
    account.tell(held.leaked_numbers.as_ptr(), 36, "u32[]");
    account.tell(&*held.number as *const u64, 8, "u64");
    account.tell(&*held.boxed_box as *const Box<i32>, 8, "i32 *");
    account.tell(&**held.boxed_box as *const i32, 4, "i32");
    account.tell(&**held.inner.as_ref().unwrap().as_ref().unwrap() as *const u16, 2, "u16");
    if let Tree::Text(text) = &held.trees[1] {
        account.tell(text.as_ptr(), text.capacity(), "String buffer");
    }
    account.tell(held.whole.as_ptr(), 160, "Vec<u64> buffer");
    account.tell(held.arena, ARENA_BYTES, "pool of rust::InArena");
    let mut next = Some(held.in_arena);
    while let Some(one) = next {
        account.tell(one.values.as_ptr(), 60, "Vec<i16> buffer");
        next = one.next;
    }
    account.tell(held.popped.as_ptr(), 64, "Vec<Box<rust::Popped>> buffer");
}

fn main() {
    let aborts = std::env::args().nth(2).map_or(false, |mode| mode == "abort");
    let mut account = Account(File::create(std::env::args().nth(1).unwrap()).unwrap());
    let mut held = make();
    take_away(&mut held, &mut account);
    tell(&held, &mut account);
    OF_THREAD.with(|own| {
        own.borrow_mut().push([1; 45]);
        account.tell(own.borrow().as_ptr(), own.borrow().capacity() * 45, "Vec<[u8; 45]> buffer");
    });
    #[cfg(new)]
    {
        account.tell(ONCE.get_or_init(|| vec![[1; 47]]).as_ptr(), 47, "Vec<[u8; 47]> buffer");
        account.tell(LAZY.lock().unwrap().as_ptr(), 49, "Vec<[u8; 49]> buffer");
    }
    let area: f64 = held.shapes.iter().map(|s| s.area()).sum::<f64>() + held.counted_shape.area();
    HELD.lock().unwrap().0 = Some(held);
    end(&mut account, aborts && area > 0.0);
}

/// Held by a variable alone, in a frame of more than a page: LLVM says in another way where such a frame begins.
pub struct OnStack(#[allow(dead_code)] [u64; 53]);
#[inline(never)]
fn end(account: &mut Account, aborts: bool) {
    let room = [1u8; 20000];
    let kept = Box::new(OnStack([7; 53]));
    if cfg!(debug_assertions) {
        account.tell(&*kept as *const OnStack, 53 * 8, "rust::OnStack");
    }
    if aborts && room.iter().all(|one| *one == 1) {
        std::process::abort();
    }
    println!("ready");
    std::io::stdout().flush().unwrap();
    loop {
        std::thread::park();
    }
}
