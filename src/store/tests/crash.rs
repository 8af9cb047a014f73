//! A change stopped after each of its steps, and its recovery stopped after each of its own: old or new, never else.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use super::super::plan::{Moved, Plan};
use super::super::{Others, Restore};
use super::*;
use crate::fail;

/// A change and the world that it finds.
struct Scenario {
    name: &'static str,
    /// What memdir had made of the world before, in a store that is closed then.
    before: fn(&Store),
    /// What others did to it since.
    outside: fn(&World),
    /// The changes, one after the other: each is over when it returns.
    changes: &'static [fn(&Store)],
    /// What must be somewhere, whatever happens.
    precious: &'static [&'static [u8]],
}

const NONE: fn(&World) = |_| ();
const BINARY: &[u8] = b"\xff\xfe\0 not text";

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "the first change of a store",
        before: |_| (),
        outside: NONE,
        changes: &[|s| put(s, "a.md", "new\n").unwrap()],
        precious: &[],
    },
    Scenario {
        name: "create",
        before: seed,
        outside: NONE,
        changes: &[|s| put(s, "new.md", "new\n").unwrap()],
        precious: &[],
    },
    Scenario {
        name: "create with parents",
        before: seed,
        outside: NONE,
        changes: &[|s| put(s, "x/y/z/new.md", "new\n").unwrap()],
        precious: &[],
    },
    Scenario {
        name: "edit",
        before: seed,
        outside: NONE,
        changes: &[|s| append(s, "a.md", "more\n").unwrap()],
        precious: &[b"a\n"],
    },
    Scenario {
        name: "three edits of a file",
        before: seed,
        outside: NONE,
        changes: &[
            |s| append(s, "a.md", "more\n").unwrap(),
            |s| append(s, "a.md", "and more\n").unwrap(),
            |s| put(s, "a.md", "all new\n").unwrap(),
        ],
        precious: &[b"a\n"],
    },
    Scenario {
        name: "delete a file",
        before: seed,
        outside: NONE,
        changes: &[|s| remove(s, "a.md").unwrap()],
        precious: &[b"a\n"],
    },
    Scenario {
        name: "delete a directory with all there can be in it",
        before: seed,
        outside: |w| {
            std::fs::create_dir_all(w.file("d/empty/er")).unwrap();
            std::os::unix::fs::symlink("../a.md", w.file("d/link")).unwrap();
            w.write("d/picture.png", BINARY);
            w.write("d/note.md", "a person's note\n");
            w.write("d/sub/f.md", "a person's edit\n");
        },
        changes: &[|s| remove(s, "d").unwrap()],
        precious: &[b"d\n", b"sub\n", BINARY, b"a person's note\n", b"a person's edit\n"],
    },
    Scenario {
        name: "delete an empty directory",
        before: seed,
        outside: |w| std::fs::create_dir(w.file("void")).unwrap(),
        changes: &[|s| remove(s, "void").unwrap()],
        precious: &[],
    },
    Scenario {
        name: "delete a link",
        before: seed,
        outside: |w| std::os::unix::fs::symlink("a.md", w.file("link")).unwrap(),
        changes: &[|s| remove(s, "link").unwrap()],
        precious: &[b"a\n"],
    },
    Scenario {
        name: "delete a binary file",
        before: seed,
        outside: |w| w.write("picture.png", BINARY),
        changes: &[|s| remove(s, "picture.png").unwrap()],
        precious: &[BINARY],
    },
    Scenario {
        name: "overwrite a binary file",
        before: seed,
        outside: |w| w.write("a.md", BINARY),
        changes: &[|s| put(s, "a.md", "text again\n").unwrap()],
        precious: &[b"a\n", BINARY],
    },
    Scenario {
        name: "rename a file",
        before: seed,
        outside: NONE,
        changes: &[|s| rename(s, "a.md", "b.md").unwrap()],
        precious: &[b"a\n"],
    },
    Scenario {
        name: "rename a directory",
        before: seed,
        outside: |w| {
            std::fs::create_dir_all(w.file("d/empty/er")).unwrap();
            w.write("d/picture.png", BINARY);
        },
        changes: &[|s| rename(s, "d", "e").unwrap()],
        precious: &[b"d\n", b"sub\n", BINARY],
    },
    Scenario {
        name: "rename a directory below new ones",
        before: seed,
        outside: NONE,
        changes: &[|s| rename(s, "d", "x/y/e").unwrap()],
        precious: &[b"d\n", b"sub\n"],
    },
    Scenario {
        name: "directories come, go, and come again under one name",
        before: seed,
        outside: NONE,
        changes: &[
            |s| put(s, "x/one.md", "one\n").unwrap(),
            |s| rename(s, "x", "y").unwrap(),
            |s| put(s, "x/two.md", "two\n").unwrap(),
            |s| remove(s, "y").unwrap(),
            |s| rename(s, "x", "y").unwrap(),
            |s| put(s, "x/three.md", "three\n").unwrap(),
        ],
        precious: &[],
    },
    Scenario {
        name: "a file where a directory was, and a directory where a file was",
        before: seed,
        outside: NONE,
        changes: &[
            |s| remove(s, "d").unwrap(),
            |s| put(s, "d", "a file now\n").unwrap(),
            |s| remove(s, "a.md").unwrap(),
            |s| put(s, "a.md/in.md", "a directory now\n").unwrap(),
        ],
        precious: &[b"a\n", b"d\n", b"sub\n"],
    },
    Scenario {
        name: "several edits in one change",
        before: seed,
        outside: NONE,
        changes: &[|s| {
            s.change(|snapshot| {
                for at in ["a.md", "d/f.md", "new/one.md", "new/two.md"] {
                    snapshot.read(&path(at))?;
                }
                let write = |at: &str, text: &str| Edit::Write {
                    path: path(at),
                    bytes: text.as_bytes().to_vec().into(),
                };
                let edits = vec![
                    write("a.md", "A\n"),
                    write("new/one.md", "1\n"),
                    write("new/two.md", "2\n"),
                    Edit::Remove { path: path("d/f.md") },
                    Edit::Rename { from: path("d/sub"), to: path("new/sub") },
                ];
                Ok::<_, Error>((edits, ()))
            })
            .unwrap();
        }],
        precious: &[b"a\n", b"d\n", b"sub\n"],
    },
    Scenario {
        name: "a batch with two edits of one file",
        before: seed,
        outside: NONE,
        changes: &[|s| {
            let edits = [("a.md", "1\n"), ("d/f.md", "2\n"), ("a.md", "3\n")];
            for result in s.change_many(edits.map(|(at, line)| appending(at, line)).into()) {
                result.unwrap();
            }
        }],
        precious: &[b"a\n", b"d\n"],
    },
    Scenario {
        name: "a batch that makes, removes and makes again",
        before: seed,
        outside: |w| w.write("b.md", BINARY),
        changes: &[|s| {
            type Decide = Box<dyn FnMut(&mut Snapshot<'_>) -> Result<(Vec<Edit>, ())> + Send>;
            let write = |at: &'static str, text: &'static str| -> Decide {
                Box::new(move |snapshot| {
                    snapshot.read(&path(at))?;
                    Ok((vec![Edit::Write { path: path(at), bytes: text.as_bytes().to_vec().into() }], ()))
                })
            };
            let remove = |at: &'static str| -> Decide {
                Box::new(move |_| Ok((vec![Edit::Remove { path: path(at) }], ())))
            };
            let decisions = vec![
                remove("a.md"),
                write("a.md", "made again\n"),
                write("new.md", "new\n"),
                remove("new.md"),
                write("b.md", "text\n"),
                remove("b.md"),
            ];
            s.change_many(decisions).into_iter().for_each(|result| result.unwrap());
        }],
        precious: &[b"a\n", BINARY],
    },
    Scenario {
        name: "an edit over an edit from outside",
        before: seed,
        outside: |w| w.write("a.md", "a person's\n"),
        changes: &[|s| append(s, "a.md", "more\n").unwrap()],
        precious: &[b"a\n", b"a person's\n"],
    },
    Scenario {
        name: "a file made again that a person removed",
        before: seed,
        outside: |w| std::fs::remove_file(w.file("a.md")).unwrap(),
        changes: &[|s| put(s, "a.md", "again\n").unwrap()],
        precious: &[b"a\n"],
    },
    Scenario {
        name: "all memories removed behind our back",
        before: seed,
        outside: |w| std::fs::remove_dir_all(w.base().join("memories")).unwrap(),
        changes: &[|s| put(s, "x/new.md", "new\n").unwrap()],
        precious: &[b"a\n", b"d\n", b"sub\n"],
    },
    Scenario {
        name: "two memories change places",
        before: seed,
        outside: NONE,
        changes: &[|s| {
            carry_out(s, |snapshot| Plan {
                edits: vec![write(snapshot, "a.md", "d\n"), write(snapshot, "d/f.md", "a\n")],
                moves: vec![moved(snapshot, "a.md", "d/f.md"), moved(snapshot, "d/f.md", "a.md")],
                ..Plan::default()
            });
        }],
        precious: &[b"a\n", b"d\n"],
    },
    Scenario {
        name: "two memories change places and contents, of files that others edited",
        before: seed,
        outside: |w| {
            w.write("a.md", "a person's\n");
            w.write("d/f.md", BINARY);
        },
        changes: &[|s| {
            carry_out(s, |snapshot| Plan {
                edits: vec![write(snapshot, "a.md", "new d\n"), write(snapshot, "d/f.md", "new a\n")],
                moves: vec![moved(snapshot, "a.md", "d/f.md"), moved(snapshot, "d/f.md", "a.md")],
                ..Plan::default()
            });
        }],
        precious: &[b"a\n", b"d\n", b"a person's\n", BINARY],
    },
    Scenario {
        name: "memories move on in a row",
        before: seed,
        outside: NONE,
        changes: &[|s| {
            carry_out(s, |snapshot| Plan {
                edits: vec![
                    Edit::remove(&path("a.md")),
                    write(snapshot, "d/f.md", "a\n"),
                    write(snapshot, "d/sub/f.md", "d, too\n"),
                    write(snapshot, "new/y/f.md", "sub\n"),
                ],
                moves: vec![
                    moved(snapshot, "a.md", "d/f.md"),
                    moved(snapshot, "d/f.md", "d/sub/f.md"),
                    moved(snapshot, "d/sub/f.md", "new/y/f.md"),
                ],
                modes: [(path("new/y/f.md"), 0o640), (path("d/f.md"), 0o400)].into(),
                ..Plan::default()
            });
        }],
        precious: &[b"a\n", b"d\n", b"sub\n"],
    },
    Scenario {
        name: "a memory takes the place of one that ends",
        before: seed,
        outside: NONE,
        changes: &[|s| {
            carry_out(s, |snapshot| Plan {
                edits: vec![Edit::remove(&path("a.md")), write(snapshot, "d/f.md", "a\n")],
                moves: vec![moved(snapshot, "a.md", "d/f.md")],
                replaced: [path("d/f.md")].into(),
                ..Plan::default()
            });
        }],
        precious: &[b"a\n", b"d\n"],
    },
    Scenario {
        name: "deleted memories live again, in their place, in another's, and elsewhere",
        before: |s| {
            seed(s);
            put(s, "b.md", "b\n").unwrap();
            for at in ["a.md", "b.md", "d/f.md"] {
                remove(s, at).unwrap();
            }
            put(s, "d/f.md", "a new one\n").unwrap();
        },
        outside: NONE,
        changes: &[|s| {
            carry_out(s, |snapshot| {
                let first = |at: &str| snapshot.journal.memories_at(at).unwrap()[0];
                let revived = [("a.md", "a.md"), ("d/f.md", "d/f.md"), ("x/y.md", "b.md")];
                Plan {
                    revived: revived.map(|(to, at)| (path(to), first(at))).into(),
                    replaced: [path("d/f.md")].into(),
                    edits: vec![
                        write(snapshot, "a.md", "a\n"),
                        write(snapshot, "d/f.md", "d\n"),
                        write(snapshot, "x/y.md", "b\n"),
                    ],
                    ..Plan::default()
                }
            });
        }],
        precious: &[b"a\n", b"b\n", b"d\n", b"a new one\n"],
    },
    Scenario {
        name: "a file takes the place of the directory that it was in",
        before: seed,
        outside: NONE,
        changes: &[|s| {
            carry_out(s, |snapshot| Plan {
                edits: vec![Edit::remove(&path("d")), Edit::write(&path("d"), "d\n")],
                moves: vec![moved(snapshot, "d/f.md", "d")],
                in_order: true,
                ..Plan::default()
            });
        }],
        precious: &[b"d\n", b"sub\n"],
    },
    Scenario {
        name: "a file goes below a directory of its name, and others with it",
        before: seed,
        outside: NONE,
        changes: &[|s| {
            carry_out(s, |snapshot| Plan {
                edits: vec![
                    Edit::remove(&path("a.md")),
                    Edit::remove(&path("d")),
                    write(snapshot, "a.md/x/a.md", "a\n"),
                    write(snapshot, "a.md/x/d.md", "d\n"),
                    write(snapshot, "a.md/new.md", "new\n"),
                ],
                moves: vec![moved(snapshot, "a.md", "a.md/x/a.md"), moved(snapshot, "d/f.md", "a.md/x/d.md")],
                in_order: true,
                ..Plan::default()
            });
        }],
        precious: &[b"a\n", b"d\n", b"sub\n"],
    },
    Scenario {
        name: "file and directory change places",
        before: seed,
        outside: NONE,
        changes: &[|s| {
            carry_out(s, |snapshot| Plan {
                edits: vec![
                    Edit::remove(&path("a.md")),
                    Edit::remove(&path("d")),
                    Edit::write(&path("d"), "a\n"),
                    Edit::write(&path("a.md/f.md"), "d\n"),
                    Edit::write(&path("a.md/sub/f.md"), "sub\n"),
                ],
                moves: vec![
                    moved(snapshot, "a.md", "d"),
                    moved(snapshot, "d/f.md", "a.md/f.md"),
                    moved(snapshot, "d/sub/f.md", "a.md/sub/f.md"),
                ],
                in_order: true,
                ..Plan::default()
            });
        }],
        precious: &[b"a\n", b"d\n", b"sub\n"],
    },
    Scenario {
        name: "files in the place of a link and of a directory with others' files",
        before: seed,
        outside: |w| {
            std::os::unix::fs::symlink("a.md", w.file("link")).unwrap();
            w.write("d/picture.png", BINARY);
            w.write("d/.hidden", "a person's\n");
        },
        changes: &[|s| {
            carry_out(s, |_| Plan {
                edits: vec![
                    Edit::remove(&path("link")),
                    Edit::remove(&path("d")),
                    Edit::write(&path("link"), "1\n"),
                    Edit::write(&path("d"), "2\n"),
                ],
                in_order: true,
                ..Plan::default()
            });
        }],
        precious: &[b"a\n", b"d\n", b"sub\n", BINARY, b"a person's\n"],
    },
    Scenario {
        name: "all that one change did is undone",
        before: |s| {
            seed(s);
            put(s, "b.md", "b\n").unwrap();
            s.change(|snapshot| {
                for at in ["a.md", "b.md", "d/f.md", "x/new.md"] {
                    snapshot.read(&path(at))?;
                }
                let edits = vec![
                    Edit::write(&path("a.md"), "A\n"),
                    Edit::write(&path("x/new.md"), "new\n"),
                    Edit::remove(&path("d/f.md")),
                    Edit::rename(&path("d/sub"), &path("e")),
                    Edit::rename(&path("b.md"), &path("d/b.md")),
                ];
                Ok::<_, Error>((edits, ()))
            })
            .unwrap();
        },
        outside: NONE,
        changes: &[undo_last],
        precious: &[b"a\n", b"b\n", b"d\n", b"sub\n", b"A\n", b"new\n"],
    },
    Scenario {
        name: "that a directory was deleted is undone, and that is undone, too",
        before: |s| {
            seed(s);
            remove(s, "d").unwrap();
        },
        outside: NONE,
        changes: &[undo_last, undo_last],
        precious: &[b"a\n", b"d\n", b"sub\n"],
    },
    Scenario {
        name: "there and back again",
        before: seed,
        outside: NONE,
        changes: &[
            |s| {
                carry_out(s, |snapshot| Plan {
                    edits: vec![write(snapshot, "a.md", "d\n"), write(snapshot, "d/f.md", "a\n")],
                    moves: vec![moved(snapshot, "a.md", "d/f.md"), moved(snapshot, "d/f.md", "a.md")],
                    ..Plan::default()
                });
            },
            |s| rename(s, "d", "e").unwrap(),
            |s| {
                carry_out(s, |snapshot| Plan {
                    edits: vec![write(snapshot, "a.md", "a\n"), write(snapshot, "e/f.md", "d\n")],
                    moves: vec![moved(snapshot, "a.md", "e/f.md"), moved(snapshot, "e/f.md", "a.md")],
                    ..Plan::default()
                });
            },
            |s| rename(s, "e", "d").unwrap(),
        ],
        precious: &[b"a\n", b"d\n", b"sub\n"],
    },
];

fn undo_last(store: &Store) {
    let last = super::restore::newest(store).change_id;
    store.restore(&Restore::Change(last), Others::Keep).unwrap();
}

/// Carries out a plan that a function makes.
pub(super) fn carry_out(store: &Store, plan: fn(&mut Snapshot<'_>) -> Plan) {
    let decide = move |snapshot: &mut Snapshot<'_>| Ok::<_, Error>((plan(snapshot), ()));
    store.carry_out(vec![decide]).pop().unwrap().unwrap();
}

/// Writes a file that is read first.
pub(super) fn write(snapshot: &mut Snapshot<'_>, at: &str, text: &str) -> Edit {
    snapshot.read(&path(at)).unwrap();
    Edit::write(&path(at), text)
}

/// The memory that lives at `from`, on its way to `to`.
pub(super) fn moved(snapshot: &Snapshot<'_>, from: &str, to: &str) -> Moved {
    let memory = snapshot.journal.head(from).unwrap().unwrap().memory;
    Moved { memory, from: path(from), to: path(to) }
}

fn seed(store: &Store) {
    put(store, "a.md", "a\n").unwrap();
    put(store, "d/f.md", "d\n").unwrap();
    put(store, "d/sub/f.md", "sub\n").unwrap();
}

/// What is on disk, and which memory is where.
type State = (Tree, BTreeMap<String, i64>);

fn memories(store: &Store) -> BTreeMap<String, i64> {
    look(store, |session| {
        let heads = session.journal.heads_below("").unwrap();
        heads.into_iter().map(|head| (head.path, head.memory)).collect()
    })
}

impl Scenario {
    fn world(&self) -> World {
        let world = World::new();
        let store = world.open();
        (self.before)(&store);
        drop(store);
        (self.outside)(&world);
        world
    }

    /// The world before the first change, and after each, with the memories.
    fn states(&self) -> Vec<State> {
        let world = self.world();
        let mut store = world.open();
        let mut states = vec![(world.tree(), memories(&store))];
        for change in self.changes {
            change(&store);
            // Just this change, too, is to be recovered from.
            drop(store);
            store = world.open();
            states.push((world.tree(), memories(&store)));
        }
        states
    }

    /// Makes the changes until the crash comes; how many were answered.
    fn run(&self, world: &World) -> usize {
        let mut answered = 0;
        let mut store = None;
        let _ = catch_unwind(AssertUnwindSafe(|| {
            let store = store.insert(world.open());
            for change in self.changes {
                change(store);
                answered += 1;
            }
        }));
        close(store);
        answered
    }

    fn check(&self, world: &World, states: &[State], answered: usize, crash: &dyn std::fmt::Debug) {
        let store = world.check(&self.lagging(world));
        let mut tree = world.tree();
        if states[answered].0.is_empty() && tree.keys().eq([""]) {
            // An empty root is as good as none.
            tree.clear();
        }
        let memories = memories(&store);
        let is_right = |(right, whose): &State| {
            // When an edit from outside is taken in differs from run to run.
            *right == tree && (!self.is_undisturbed() || *whose == memories)
        };
        let is_right = states[answered..].iter().take(2).any(is_right);
        assert!(
            is_right,
            "{}, {crash:?}: {answered} answered, and there is\n{tree:#?}\n{memories:?}",
            self.name
        );
        self.precious.iter().for_each(|bytes| world.assert_not_lost(&store, bytes));
        if self.is_undisturbed() {
            let outside = look(&store, |session| session.journal.outside());
            assert!(outside.is_empty(), "{}, {crash:?}: nobody did {outside:?}", self.name);
        }
    }

    fn is_undisturbed(&self) -> bool {
        std::ptr::fn_addr_eq(self.outside, NONE)
    }

    /// What outsiders changed and memdir has not looked at yet.
    fn lagging(&self, world: &World) -> Vec<&'static str> {
        let paths = ["a.md", "b.md", "d/f.md", "d/sub/f.md", "e/sub/f.md"];
        if self.is_undisturbed() {
            return Vec::new();
        }
        paths
            .into_iter()
            .filter(|path| {
                world.read(path).is_none_or(|seen| seen.starts_with(b"a person") || seen == BINARY)
            })
            .collect()
    }
}

/// Reads, as the first process after the crash does, and so lets everything be mended.
pub(super) fn mend(world: &World) {
    let mut store = None;
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let store = store.insert(world.open());
        let _ = store.list(&MemoryPath::ROOT, 1);
    }));
    close(store);
}

/// Closes a store, which may crash, too.
fn close(store: Option<Store>) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(store)));
}

/// What went wrong in a row of cases, each of which is tried whatever came of the others.
#[derive(Default)]
pub(super) struct Failures(Vec<String>);

impl Failures {
    pub(super) fn note(&mut self, name: &str, crash: &dyn std::fmt::Debug, case: impl FnOnce()) {
        if catch_unwind(AssertUnwindSafe(case)).is_err() {
            self.0.push(format!("{name}: {crash:?}"));
        }
    }

    pub(super) fn assert_none(&self) {
        assert!(
            self.0.is_empty(),
            "not right after a crash at step (and step of recovery):\n{}",
            self.0.join("\n")
        );
    }
}

/// With `MEMDIR_LONG` every step of every recovery is tried, and not a few of each.
#[test]
fn a_crash_at_any_step_leaves_the_old_state_or_the_new_one() {
    let mut failures = Failures::default();
    for scenario in SCENARIOS {
        let states = scenario.states();
        for step in 0.. {
            let world = scenario.world();
            fail::crash_after(step);
            let answered = scenario.run(&world);
            let is_over = fail::survive();
            failures.note(scenario.name, &step, || scenario.check(&world, &states, answered, &step));
            if is_over {
                break;
            }
            let stride = if is_long() { 1 } else { 13 };
            for again in (step % stride..).step_by(stride) {
                let world = scenario.world();
                fail::crash_after(step);
                let answered = scenario.run(&world);
                fail::survive();
                fail::crash_after(again);
                mend(&world);
                let is_over = fail::survive();
                let crash = (step, again);
                failures.note(scenario.name, &crash, || scenario.check(&world, &states, answered, &crash));
                if is_over {
                    break;
                }
            }
        }
    }
    failures.assert_none();
}

const CHILD: &str = "MEMDIR_TEST_CHILD";

/// A process that is to be killed: started by the tests below, with its task in the environment.
#[test]
fn child() {
    let Some(task) = std::env::var_os(CHILD) else { return };
    let task = task.into_string().unwrap();
    let [scenario, step, base] = task.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
    let scenario = &SCENARIOS[scenario.parse::<usize>().unwrap()];
    let base = Path::new(base);
    if step == "check" {
        let store = open(base);
        store.list(&MemoryPath::ROOT, 1).unwrap().unwrap();
        return;
    }
    fail::kill_after(step.parse().unwrap());
    let store = open(base);
    for (i, change) in scenario.changes.iter().enumerate() {
        change(&store);
        std::fs::write(base.join("answered"), (i + 1).to_string()).unwrap();
    }
    // The end of a process that goes without closing anything.
    fail::crash_after(0);
    fail::step();
}

fn spawn(scenario: usize, step: &str, world: &World) -> bool {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::tests::crash::child", "-q"])
        .env(CHILD, format!("{scenario} {step} {}", world.base().display()))
        .output()
        .unwrap()
        .status
        .success()
}

/// With `MEMDIR_LONG` at every step, and not at every seventh.
#[test]
fn a_killed_process_leaves_the_old_state_or_the_new_one_to_another_process() {
    let stride = if is_long() { 1 } else { 7 };
    let mut failures = Failures::default();
    for (i, scenario) in SCENARIOS.iter().enumerate() {
        let states = scenario.states();
        for step in (i % stride..).step_by(stride) {
            // The steps of a change are as many here as there: without a crash there is no more to try.
            let world = scenario.world();
            fail::crash_after(step);
            scenario.run(&world);
            if fail::survive() {
                break;
            }
            let world = scenario.world();
            assert!(!spawn(i, &step.to_string(), &world), "the child was to be killed");
            let answered = std::fs::read_to_string(world.base().join("answered")).unwrap_or_default();
            let answered = answered.parse().unwrap_or(0);
            if step % 2 == 0 {
                assert!(spawn(i, "check", &world), "{}: the other process failed", scenario.name);
            }
            failures.note(scenario.name, &step, || scenario.check(&world, &states, answered, &step));
        }
    }
    failures.assert_none();
}
