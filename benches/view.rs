//! Views, by memdir and by bare system calls; `ratios` compares them. `cargo bench --bench view`; stores are made in
//! `MEMDIR_BENCH_DIR`, else in the target directory.

mod common;

use divan::Bencher;

use common::view::CASES;
use common::{case, measure};

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
