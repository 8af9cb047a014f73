//! Durable changes, by memdir and by bare system calls; `ratios` compares them. `cargo bench --bench change`; stores are made in
//! `MEMDIR_BENCH_DIR`, else in the target directory.

mod common;

use divan::Bencher;

use common::change::CASES;
use common::{Case, Ground, Pair, Side, case};

fn main() {
    divan::main();
}

fn names() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|case| case.name)
}

#[divan::bench(args = names(), max_time = 3)]
fn memdir(bencher: Bencher, name: &str) {
    measure(bencher, case(CASES, name), |pair| pair.memdir);
}

#[divan::bench(args = names(), max_time = 3)]
fn bare(bencher: Bencher, name: &str) {
    measure(bencher, case(CASES, name), |pair| pair.bare);
}

fn measure(bencher: Bencher, case: &Case, side: impl Fn(Pair) -> Side) {
    let ground = Ground::new();
    let Side { mut prepare, run } = side((case.set_up)(&ground));
    let mut made = 0;
    bencher
        .counter(divan::counter::ItemsCount::new(case.per_run))
        .with_inputs(|| {
            prepare(made);
            made += 1;
            made - 1
        })
        .bench_local_values(run);
}
