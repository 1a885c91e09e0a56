// Generic functions, closures, traits and the standard library's iterators.
use std::collections::HashMap;

trait Shape {
    fn area(&self) -> f64;
}

struct Square(f64);
struct Circle {
    radius: f64,
}

impl Shape for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
}

impl Shape for Circle {
    #[inline(never)]
    fn area(&self) -> f64 {
        std::f64::consts::PI * square(self.radius)
    }
}

#[inline(always)]
fn square<T: std::ops::Mul<Output = T> + Copy>(x: T) -> T {
    x * x
}

#[inline(never)]
fn words(text: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for word in text.split_whitespace().filter(|w| w.len() > 1) {
        *counts.entry(word.to_lowercase()).or_insert(0) += square(word.len());
    }
    counts
}

#[inline(never)]
fn sorted(mut numbers: Vec<u64>) -> u64 {
    numbers.sort_by(|a, b| b.cmp(a));
    numbers.iter().enumerate().map(|(i, n)| square(*n) ^ i as u64).fold(0, |a, b| a.wrapping_add(b))
}

fn main() {
    let count = std::env::args().count();
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(count as f64)), Box::new(Circle { radius: 2.0 })];
    let area: f64 = shapes.iter().map(|s| s.area()).sum();
    let counts = words(&"some words of a text of words ".repeat(count));
    let mut keys: Vec<_> = counts.iter().collect();
    keys.sort();
    println!("{} {} {:?}", area, sorted((0..count as u64 * 10).rev().collect()), keys);
}
