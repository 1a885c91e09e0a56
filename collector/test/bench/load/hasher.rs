// Hash maps, trait objects, threads and panics that are caught.
use std::collections::HashMap;
use std::time::{Duration, Instant};

trait Step {
    fn step(&self, depth: u32, words: &mut HashMap<String, u64>) -> u64;
}

struct Down(Option<Box<dyn Step + Send>>);

impl Step for Down {
    fn step(&self, depth: u32, words: &mut HashMap<String, u64>) -> u64 {
        *words.entry(format!("{:x}", depth * 7919)).or_insert(0) += u64::from(depth);
        match &self.0 {
            Some(next) => next.step(depth + 1, words) + 1,
            None if depth > 20 && words.len() % 64 == 0 => panic!("bottom"),
            None => words.len() as u64,
        }
    }
}

fn work(end: Instant) -> u64 {
    let mut top: Option<Box<dyn Step + Send>> = None;
    for _ in 0..24 {
        top = Some(Box::new(Down(top)));
    }
    let top = top.unwrap();
    let mut sum = 0;
    let mut words = HashMap::new();
    while Instant::now() < end {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| top.step(sum as u32 % 4096, &mut words)));
        sum += result.unwrap_or(1);
        if words.len() > 20000 {
            words.clear();
        }
    }
    sum
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10);
    let end = Instant::now() + Duration::from_secs(seconds);
    std::panic::set_hook(Box::new(|_| {}));
    let threads: Vec<_> = (0..2).map(|_| std::thread::spawn(move || work(end))).collect();
    let sum: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    std::process::exit(i32::from(sum == 1));
}
