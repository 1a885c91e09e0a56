//! Processor time, profiled by the crate pprof: recursion, closures, generics, a trait object, threads with names.
//!
//!     work DIRECTORY      writes cpu.pb there, not packed
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use pprof::protos::Message;

#[inline(never)]
fn fibonacci(n: u64) -> u64 {
    if n < 2 {
        n
    } else {
        fibonacci(n - 1) + fibonacci(n - 2)
    }
}

#[inline(always)]
fn mix(mut value: u64) -> u64 {
    for _ in 0..50 {
        value = black_box(value.wrapping_mul(6364136223846793005).wrapping_add(1));
    }
    value
}

trait Step {
    fn run(&self, depth: u32, until: Instant) -> u64;
}

struct Ping;
struct Pong<T>(T);

impl Step for Ping {
    #[inline(never)]
    fn run(&self, depth: u32, until: Instant) -> u64 {
        let mut sum = 0;
        if depth > 0 {
            let next: Box<dyn Step> = black_box(Box::new(Pong(depth)));
            return next.run(depth - 1, until) + 1;
        }
        while Instant::now() < until {
            sum += fibonacci(black_box(15)) + (0..200).map(mix).fold(0, u64::wrapping_add) % 2;
        }
        sum
    }
}

impl<T> Step for Pong<T> {
    #[inline(never)]
    fn run(&self, depth: u32, until: Instant) -> u64 {
        Ping.run(depth, until) + 1
    }
}

fn main() {
    let directory = std::env::args().nth(1).expect("no directory");
    let guard = pprof::ProfilerGuardBuilder::default()
        .frequency(500)
        .build()
        .expect("no profiler");
    let until = Instant::now() + Duration::from_millis(500);
    let other = thread::Builder::new()
        .name("other thread".into())
        .spawn(move || Ping.run(3, until))
        .expect("no thread");
    black_box(Ping.run(20, until));
    black_box(other.join().expect("the thread panicked"));

    let profile = guard.report().build().and_then(|report| report.pprof());
    let bytes = profile.expect("no profile").encode_to_vec();
    fs::write(Path::new(&directory).join("cpu.pb"), bytes).expect("no file");
}
