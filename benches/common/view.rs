//! Views.

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;

use serde_json::json;
use walkdir::WalkDir;

use super::{Case, Ground, Pair, Side, call, fill, run, text};

pub const CASES: &[Case] = &[
    Case { name: "view 2 KB", per_run: 1, set_up: small },
    Case { name: "view 20 lines of 1 MiB (bare: whole read)", per_run: 1, set_up: range },
    Case { name: "list 100 files", per_run: 1, set_up: |ground| list(ground, 100) },
    Case { name: "list 100,000 files", per_run: 1, set_up: |ground| list(ground, 100_000) },
];

fn small(ground: &Ground) -> Pair {
    ground.file("note.md", &text(2048));
    let (memory, path) = (ground.memory.clone(), ground.bare("note.md"));
    let view = call(json!({"command": "view", "path": "/memories/note.md"}));
    let bare = move || {
        let text = fs::read_to_string(&path).expect("a text");
        let mut out = String::with_capacity(2 * text.len());
        out.push_str("Here's the content of /memories/note.md with line numbers:");
        for (n, line) in text.split('\n').enumerate() {
            write!(out, "\n{:>6}\t{line}", n + 1).expect("a String takes all");
        }
        out
    };
    assert_eq!(run(&memory, &view), bare(), "both do the same");
    Pair {
        memdir: Side::new(move |_| drop(black_box(memory.run(&view)))),
        bare: Side::new(move |_| drop(black_box(bare()))),
    }
}

fn range(ground: &Ground) -> Pair {
    ground.file("long.md", &text((1 << 20) - 64));
    let (memory, path) = (ground.memory.clone(), ground.bare("long.md"));
    let view = call(json!({"command": "view", "path": "/memories/long.md", "view_range": [8000, 8019]}));
    assert_eq!(run(&memory, &view).lines().count(), 21);
    Pair {
        memdir: Side::new(move |_| drop(black_box(memory.run(&view)))),
        bare: Side::new(move |_| drop(black_box(fs::read(&path).expect("a file")))),
    }
}

fn list(ground: &Ground, files: usize) -> Pair {
    let (memory, root) = (ground.memory.clone(), ground.stored(""));
    fill(&root, files);
    let view = call(json!({"command": "view", "path": "/memories"}));
    let bare = move || -> u64 {
        let entries = WalkDir::new(&root).max_depth(2).into_iter().map(|entry| entry.expect("an entry"));
        entries.map(|entry| entry.metadata().expect("it is there").len()).sum()
    };
    Pair {
        memdir: Side::new(move |_| drop(black_box(run(&memory, &view)))),
        bare: Side::new(move |_| assert!(bare() > 0)),
    }
}
