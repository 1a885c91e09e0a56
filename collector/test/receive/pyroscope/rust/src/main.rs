// 60, 30 and 10 % of the time in three functions: work ADDRESS NAME SECONDS
use std::hint::black_box;
use std::time::{Duration, Instant};

use pyroscope::backend::{pprof_backend, BackendConfig, PprofConfig};
use pyroscope::pyroscope::PyroscopeAgentBuilder;

#[inline(never)]
fn spin(milliseconds: u64) -> u64 {
    let end = Instant::now() + Duration::from_millis(milliseconds);
    let mut turns = 0;
    while Instant::now() < end {
        turns = black_box(turns + 1);
    }
    turns
}

#[inline(never)]
fn much() -> u64 {
    black_box(spin(600))
}

#[inline(never)]
fn some() -> u64 {
    black_box(spin(300))
}

#[inline(never)]
fn few() -> u64 {
    black_box(spin(100))
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let seconds: u64 = arguments[3].parse().unwrap();
    let agent = PyroscopeAgentBuilder::new(
        &arguments[1],
        &arguments[2],
        100,
        "pyroscope-rs",
        "2.1.5",
        pprof_backend(PprofConfig::default(), BackendConfig::default()),
    )
    .tags(vec![("zone", "eu")])
    .build()
    .unwrap();
    let running = agent.start().unwrap();
    let (add_tag, remove_tag) = running.tag_wrapper();
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        much();
        add_tag("job".to_string(), "nightly".to_string()).unwrap();
        some();
        remove_tag("job".to_string(), "nightly".to_string()).unwrap();
        few();
    }
    drop((add_tag, remove_tag));
    running.stop().unwrap().shutdown();
}
