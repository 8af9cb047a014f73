//! What others do while an entry is stored, or just before.

use std::sync::Barrier;
use std::thread;

use super::*;

const ALIKE: [&str; 2] = [
    "On weekends the user mostly goes hiking in the mountains.",
    "The user goes to the mountains for hikes at the weekend.",
];

/// Stores two entries that are alike at the same moment, through two handles.
fn stored_at_once(bench: &Bench, settings: &str) -> [Stored; 2] {
    let (bell, recalls) =
        (Barrier::new(2), ALIKE.map(|_| Recall::new(open(bench.dir.path(), settings, &bench.clock))));
    thread::scope(|scope| {
        let bell = &bell;
        let threads = [0, 1].map(|n| {
            let recall = &recalls[n];
            scope.spawn(move || {
                bell.wait();
                recall.store(entry(ALIKE[n])).unwrap()
            })
        });
        threads.map(|thread| thread.join().unwrap())
    })
}

#[test]
fn of_two_that_are_stored_at_once_the_later_one_names_or_replaces_the_other() {
    for _ in 0..20 {
        let bench = Bench::new();
        let [one, other] = stored_at_once(&bench, "");
        let names = |one: &Stored, other: &Stored| one.similar.iter().any(|told| told.id == other.memory_id);
        assert!(names(&one, &other) || names(&other, &one), "{one:?} {other:?}");
        let bench = Bench::new();
        let settings = "[entries]\non_similar = \"supersede\"\nsimilar_threshold = 0.7\n";
        let both = stored_at_once(&bench, settings);
        assert_eq!(live(&bench.recall), 1, "{both:?}");
    }
}

#[test]
fn a_file_that_a_person_made_just_before_counts() {
    let bench = Bench::new();
    bench.store("The deploy window is Tuesday morning.");
    let watching = bench.recall.clone().watching();
    let ask = Ask { query: "when is the deploy window".into(), ..Ask::default() };
    for n in 0..3 {
        watching.retrieve(&ask).unwrap();
        watching.retrieve(&ask).unwrap();
        let text = format!("Door {n} is painted {} this year.", ["red", "green", "blue"][n]);
        let file = bench.dir.path().join(format!("memories/user_preference/hand-{n}.md"));
        std::fs::write(file, format!("---\nimportance: 3\n---\n{text}\n")).unwrap();
        assert!(watching.store(entry(&text)).unwrap().duplicate_of.is_some(), "{text}");
    }
}
