//! Changes, all of them durable when they are answered; bare, but for those marked weak, by the textbook recipe.

use std::fs;
use std::path::PathBuf;
use std::thread;

use memdir::{Dispatcher, ToolUse};
use serde_json::{Value, json};

use super::recipe::{Recipe, sync_parent};
use super::{Case, Ground, Pair, Side, call, create, fill, run, text};

/// Changes that each of several threads makes in one run.
const EACH: usize = 25;
/// Lines of one batch.
const BATCH: usize = 64;

pub const CASES: &[Case] = &[
    Case { name: "create 2 KB", per_run: 1, set_up: |ground| made(ground, Recipe::Textbook) },
    Case {
        name: "str_replace in 2 KB",
        per_run: 1,
        set_up: |ground| replaced(ground, 2048, Recipe::Textbook),
    },
    Case { name: "insert in 2 KB", per_run: 1, set_up: |ground| inserted(ground, Recipe::Textbook) },
    Case { name: "create 2 KB (bare: weak)", per_run: 1, set_up: |ground| made(ground, Recipe::Weak) },
    Case {
        name: "str_replace in 2 KB (bare: weak)",
        per_run: 1,
        set_up: |ground| replaced(ground, 2048, Recipe::Weak),
    },
    Case { name: "insert in 2 KB (bare: weak)", per_run: 1, set_up: |ground| inserted(ground, Recipe::Weak) },
    Case {
        name: "str_replace in 1 MB",
        per_run: 1,
        set_up: |ground| replaced(ground, 1_000_000, Recipe::Textbook),
    },
    Case { name: "rename", per_run: 1, set_up: renamed },
    Case { name: "delete", per_run: 1, set_up: deleted },
    Case { name: "insert among 10 files", per_run: 1, set_up: |ground| among(ground, 10) },
    Case { name: "insert among 1,000 files", per_run: 1, set_up: |ground| among(ground, 1_000) },
    Case { name: "insert among 100,000 files", per_run: 1, set_up: |ground| among(ground, 100_000) },
    Case { name: "insert, 1 thread", per_run: EACH, set_up: |ground| threads(ground, 1) },
    Case { name: "insert, 8 threads", per_run: 8 * EACH, set_up: |ground| threads(ground, 8) },
    Case { name: "insert, 32 threads", per_run: 32 * EACH, set_up: |ground| threads(ground, 32) },
    Case { name: "create, 64 lines at once", per_run: BATCH, set_up: batch },
];

fn made(ground: &Ground, recipe: Recipe) -> Pair {
    let (memory, dir, content) = (ground.memory.clone(), ground.bare(""), text(2048));
    let bytes = content.clone();
    let name = |n| format!("note-{n}.md");
    Pair {
        memdir: Side::new(move |n| drop(run(&memory, &create(&name(n), &content)))),
        bare: Side::new(move |n| recipe.write(&dir.join(name(n)), bytes.as_bytes())),
    }
}

fn replaced(ground: &Ground, bytes: usize, recipe: Recipe) -> Pair {
    let mut content = text(bytes - 10);
    content.insert_str(bytes / 128 * 64, "likes tea\n");
    ground.file("note.md", &content);
    let (memory, path) = (ground.memory.clone(), ground.bare("note.md"));
    let turn = |n: usize| if n.is_multiple_of(2) { ("tea\n", "ale\n") } else { ("ale\n", "tea\n") };
    Pair {
        memdir: Side::new(move |n| {
            let (old, new) = turn(n);
            run(&memory, &change("str_replace", "note.md", json!({"old_str": old, "new_str": new})));
        }),
        bare: Side::new(move |n| {
            let (old, new) = turn(n);
            recipe.replace(&path, old, new);
        }),
    }
}

fn inserted(ground: &Ground, recipe: Recipe) -> Pair {
    ground.file("note.md", &text(2048));
    let (memory, path) = (ground.memory.clone(), ground.bare("note.md"));
    Pair {
        memdir: Side::new(move |_| insert(&memory, "note.md")),
        bare: Side::new(move |_| recipe.insert(&path, LINE)),
    }
}

fn renamed(ground: &Ground) -> Pair {
    ground.file("0.md", &text(2048));
    let (memory, dir) = (ground.memory.clone(), ground.bare(""));
    let turn = |n: usize| (format!("{n}.md"), format!("{}.md", n + 1));
    Pair {
        memdir: Side::new(move |n| {
            let (old, new) = turn(n);
            let path = |name| format!("/memories/{name}");
            run(&memory, &call(json!({"command": "rename", "old_path": path(old), "new_path": path(new)})));
        }),
        bare: Side::new(move |n| {
            let (old, new) = turn(n);
            fs::rename(dir.join(old), dir.join(&new)).expect("a rename");
            sync_parent(&dir.join(new));
        }),
    }
}

fn deleted(ground: &Ground) -> Pair {
    let memory = [ground.memory.clone(), ground.memory.clone()];
    let dir = [ground.bare(""), ground.bare("")];
    let [remover, creator] = memory;
    let [there, here] = dir;
    let content = text(2048);
    let bytes = content.clone();
    let name = |n: usize| format!("note-{n}.md");
    Pair {
        memdir: Side::new(move |n| drop(run(&remover, &change("delete", &name(n), json!({})))))
            .prepared(move |n| drop(run(&creator, &create(&name(n), &content)))),
        bare: Side::new(move |n| {
            let path = there.join(name(n));
            fs::remove_file(&path).expect("it is there");
            sync_parent(&path);
        })
        .prepared(move |n| Recipe::Textbook.write(&here.join(name(n)), bytes.as_bytes())),
    }
}

fn among(ground: &Ground, others: usize) -> Pair {
    fill(&ground.stored(""), others);
    fill(&ground.bare(""), others);
    inserted(ground, Recipe::Textbook)
}

fn threads(ground: &Ground, count: usize) -> Pair {
    let names: Vec<_> = (0..count).map(|n| format!("note-{n}.md")).collect();
    for name in &names {
        ground.file(name, &text(2048));
    }
    let paths: Vec<PathBuf> = names.iter().map(|name| ground.bare(name)).collect();
    let memory = ground.memory.clone();
    Pair {
        memdir: Side::new(move |_| each(&names, |name| insert(&memory, name))),
        bare: Side::new(move |_| each(&paths, |path| Recipe::Textbook.insert(path, LINE))),
    }
}

/// Gives each file a thread of its own, which changes it again and again.
fn each<T: Sync>(files: &[T], change: impl Fn(&T) + Sync) {
    thread::scope(|scope| {
        for file in files {
            scope.spawn(|| (0..EACH).for_each(|_| change(file)));
        }
    });
}

fn batch(ground: &Ground) -> Pair {
    let (memory, dir, content) = (ground.memory.clone(), ground.bare(""), text(2048));
    let bytes = content.clone();
    let name = |n, i| format!("note-{n}-{i}.md");
    Pair {
        memdir: Side::new(move |n| {
            let line = |i| serde_json::to_vec(&create(&name(n, i), &content)).expect("JSON");
            let lines: Vec<_> = (0..BATCH).map(line).collect();
            let answers = memory.run_lines(&lines.iter().map(Vec::as_slice).collect::<Vec<_>>());
            assert!(answers.len() == BATCH && !answers.iter().any(|answer| answer.contains("is_error")));
        }),
        bare: Side::new(move |n| {
            (0..BATCH).for_each(|i| Recipe::Textbook.write(&dir.join(name(n, i)), bytes.as_bytes()));
        }),
    }
}

const LINE: &str = "x\n";

fn insert(memory: &Dispatcher, name: &str) {
    run(memory, &change("insert", name, json!({"insert_line": 1, "insert_text": LINE})));
}

fn change(command: &str, name: &str, mut input: Value) -> ToolUse {
    input["command"] = command.into();
    input["path"] = format!("/memories/{name}").into();
    call(input)
}
