//! The index behind retrieval: it may lag, be damaged, or be of another journal, and no answer is wrong.

use std::fs;
use std::path::PathBuf;

use super::*;

const SUBJECTS: [&str; 40] = [
    "anchor", "basket", "candle", "dragon", "engine", "feather", "garden", "hammer", "island", "jacket",
    "kettle", "ladder", "magnet", "needle", "orange", "pencil", "quarry", "ribbon", "saddle", "temple",
    "umbrella", "violin", "window", "yogurt", "zipper", "acorn", "bridge", "castle", "desert", "elbow",
    "forest", "guitar", "helmet", "insect", "jungle", "kitten", "lantern", "mirror", "napkin", "oyster",
];

/// Stores a fact for each subject, more than are kept beside the index.
fn filled() -> Bench {
    let bench = Bench::new();
    for (n, subject) in SUBJECTS.iter().enumerate() {
        bench.store(&format!("The {subject} is kept in drawer {n}."));
    }
    assert_all_found(&bench.recall);
    assert!(index_of(&bench).join("current").exists(), "there is an index");
    bench
}

fn index_of(bench: &Bench) -> PathBuf {
    bench.dir.path().join(".memdir/index")
}

fn assert_all_found(recall: &Recall) {
    for (n, subject) in SUBJECTS.iter().enumerate() {
        let ask = Ask { query: format!("where is the {subject}"), limit: 1, ..Ask::default() };
        let found = recall.retrieve(&ask).unwrap().memories;
        assert_eq!(found[0].content, format!("The {subject} is kept in drawer {n}."));
    }
}

/// All files of the index.
fn files(at: &std::path::Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

#[test]
fn damage_costs_a_moment_and_no_answer() {
    let bench = filled();
    let index = index_of(&bench);
    let listed = || {
        let mut all = Vec::new();
        files(&index, &mut all);
        all.retain(|file| file.file_name().unwrap() != "lock");
        all.sort();
        all
    };
    let count = listed().len();
    assert!(count > 5);
    for n in 0..count {
        for damage in 0..4 {
            // It is made anew meanwhile, under other names.
            let all = listed();
            let Some(file) = all.get(n) else { continue };
            let bytes = fs::read(file).unwrap();
            match damage {
                0 => fs::write(file, "").unwrap(),
                1 => fs::write(file, &bytes[..bytes.len() / 2]).unwrap(),
                2 => fs::write(file, [&bytes[..], b"more"].concat()).unwrap(),
                _ => fs::remove_file(file).unwrap(),
            }
            assert_all_found(&bench.other());
        }
    }
    fs::remove_dir_all(&index).unwrap();
    assert_all_found(&bench.recall);
    // What it was still has it open, and had no reason to make another.
    assert!(!index.exists());
    fs::write(&index, "no directory").unwrap();
    assert_all_found(&bench.other());
}

/// As the README has it for a damaged journal: the files are adopted by a new one.
fn lose_journal(bench: &Bench) {
    for name in ["journal.db", "journal.db-wal", "journal.db-shm"] {
        let _ = fs::remove_file(bench.dir.path().join(".memdir").join(name));
    }
}

#[test]
fn an_index_of_another_journal_is_not_believed() {
    let bench = filled();
    lose_journal(&bench);
    let other = bench.other();
    // The new journal has as many versions as the old one, and more.
    for n in 0..3 {
        other.store(entry(&format!("The cactus number {n} needs water."))).unwrap();
    }
    assert_all_found(&other);
    assert_all_found(&bench.other());
    assert_eq!(live(&bench.other()), SUBJECTS.len() + 3);
}

#[test]
fn what_is_redacted_is_in_no_byte_of_the_index() {
    let bench = filled();
    let stored = bench.store("The passphrase of the vault is wombatcanary.");
    assert_eq!(bench.found("passphrase of the vault")[0], "The passphrase of the vault is wombatcanary.");
    let store = bench.recall.store_handle();
    bench.recall.delete(stored.memory_id, "leaked").unwrap();
    let mut versions = Vec::new();
    let log = Log { memory: Some(stored.memory_id), ..Log::default() };
    let each = &mut |version: crate::version::Version| {
        // The deletion, too: its path has the words in it.
        versions.push(version.id);
        Ok(std::ops::ControlFlow::Continue(()))
    };
    store.history().unwrap().versions(&log, each).unwrap();
    store.redact(&versions).unwrap();
    let mut all = Vec::new();
    files(bench.dir.path(), &mut all);
    let holds = |file: &PathBuf| {
        fs::read(file).is_ok_and(|bytes| bytes.windows(12).any(|window| window == b"wombatcanary"))
    };
    assert_eq!(all.into_iter().find(holds), None);
    assert_all_found(&bench.recall);
}

#[test]
fn another_model_is_a_setting_and_a_wrong_one_is_named() {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/models/static-256");
    let bench = Bench::with(&format!("[search]\nmodel = \"{model}\"\n"));
    bench.store("The user likes green tea.");
    assert_eq!(bench.found("green tea"), ["The user likes green tea."]);
    let wrong = Bench::with("[search]\nmodel = \"missing\"\n");
    let error =
        wrong.recall.retrieve(&Ask { query: "tea".into(), ..Ask::default() }).unwrap_err().to_string();
    assert!(error.starts_with("memdir.toml: `[search] model = \"missing\"` cannot be used: "), "{error}");
    assert!(!error.contains(wrong.dir.path().to_str().unwrap()), "{error}");
}

#[test]
fn who_has_an_index_open_that_was_removed_publishes_no_part_of_it() {
    let bench = filled();
    fs::remove_dir_all(index_of(&bench)).unwrap();
    // So many that the index is caught up by who still has the old one open.
    for n in 0..40 {
        bench.store(&format!("The cactus number {n} is in room {n}."));
    }
    assert_all_found(&bench.recall);
    assert_all_found(&bench.other());
    assert_eq!(live(&bench.other()), SUBJECTS.len() + 40);
}

#[test]
fn one_memory_of_many_passages_hides_no_other() {
    let bench = Bench::new();
    let day = |n| format!("# Gecko log day {n}\n\nThe gecko ate cricket {n}.\n\n");
    let log: Vec<String> = (0..300).map(day).collect();
    bench.store(&log.concat());
    for n in 0..5 {
        bench.store(&format!("The gecko terrarium number {n} must be kept at {n} degrees."));
    }
    assert_eq!(bench.found("gecko").len(), 6);
}

#[test]
fn a_word_deep_in_a_very_long_line_is_found() {
    let bench = Bench::new();
    let pairs: Vec<String> = (0..20_000).map(|n| format!("\"key{n}\":{n}")).collect();
    let line = format!("{{{},\"xylophone_token\":1,{}}}", pairs[..9000].join(","), pairs[9000..].join(","));
    bench.write("/memories/data.json", &line);
    for n in 0..20 {
        bench.write(&format!("/memories/note{n}.md"), "Nothing to see here, move along.\n");
    }
    let found = bench.found("xylophone_token");
    assert!(found[0].contains("xylophone_token") && found[0].len() <= 4000, "{found:?}");
}

#[test]
fn an_index_that_is_a_link_leads_nowhere() {
    let bench = Bench::new();
    let outside = tempfile::tempdir().unwrap();
    bench.store("The first of many facts.");
    let _ = fs::remove_dir_all(index_of(&bench));
    std::os::unix::fs::symlink(outside.path(), index_of(&bench)).unwrap();
    let other = bench.other().watching();
    for (n, subject) in SUBJECTS.iter().enumerate() {
        other.store(entry(&format!("The {subject} is kept in drawer {n}."))).unwrap();
        other.store_handle().notice().unwrap();
    }
    assert_all_found(&other);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0, "nothing is written outside");
}

/// Holds the index as another process does that builds it.
fn hold(bench: &Bench) -> fs::File {
    fs::create_dir_all(index_of(bench)).unwrap();
    let lock = fs::OpenOptions::new().create(true).append(true).open(index_of(bench).join("lock")).unwrap();
    lock.lock().unwrap();
    lock
}

fn ask(recall: &Recall, query: &str) -> Retrieved {
    recall.retrieve(&Ask { query: query.to_owned(), limit: 1, ..Ask::default() }).unwrap()
}

/// Asks until what is built meanwhile is there.
fn ask_until(recall: &Recall, query: &str, is_built: impl Fn(&Retrieved) -> bool) -> Retrieved {
    loop {
        let found = ask(recall, query);
        if is_built(&found) {
            return found;
        }
        std::thread::yield_now();
    }
}

#[test]
fn another_model_is_brought_in_while_questions_are_answered_by_words() {
    let bench = filled();
    let current = || fs::read(index_of(&bench).join("current")).unwrap();
    let before = current();
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/models/static-256");
    let settings = format!("[search]\nmodel = \"{model}\"\n");
    let recall = Recall::new(open(bench.dir.path(), &settings, &bench.clock)).watching();
    let lock = hold(&bench);
    assert_all_found(&recall);
    let stored = recall.store(entry("The xylophone is lent to Ana.")).unwrap();
    let again = recall.store(entry("The kettle is kept in drawer 10.")).unwrap();
    assert_eq!(again.duplicate_of, Some(again.memory_id), "{again:?}");
    let found = ask(&recall, "xylophone");
    assert_eq!(found.memories[0].id, stored.memory_id);
    assert!(found.memories[0].terms.semantic.abs() < f32::EPSILON && found.memories[0].score > 0.5);
    assert_eq!(current(), before);
    drop(lock);
    let found = ask_until(&recall, "xylophone", |found| found.memories[0].terms.semantic > 0.0);
    assert_eq!(found.memories[0].id, stored.memory_id);
    assert_ne!(current(), before);
    assert_all_found(&recall);
}

#[test]
fn an_index_of_another_journal_is_made_anew_in_a_process_that_lives_long() {
    let bench = filled();
    lose_journal(&bench);
    let recall = bench.other().watching();
    assert_all_found(&recall);
    for n in 0..40 {
        recall.store(entry(&format!("The cactus number {n} needs water."))).unwrap();
    }
    assert_all_found(&recall);
    assert_all_found(&bench.other());
}

/// On a disk that takes no index.
#[test]
fn what_cannot_be_made_anew_on_the_disk_is_made_in_memory_and_told() {
    let bench = filled();
    assert!(bench.recall.store_handle().take_warning().is_none());
    fs::remove_dir_all(index_of(&bench)).unwrap();
    fs::write(index_of(&bench), "in the way").unwrap();
    for recall in [bench.other(), bench.other().watching()] {
        assert_all_found(&recall);
        assert_all_found(&recall);
        let told = recall.store_handle().take_warning().unwrap();
        assert!(matches!(told, Error::Index { .. }), "{told}");
    }
}

/// The thread that makes an index of another model anew fails where nobody waits for it.
#[test]
fn what_a_thread_cannot_make_anew_is_told_and_answered() {
    let bench = filled();
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/models/static-256");
    let settings = format!("[search]\nmodel = \"{model}\"\n");
    let recall = Recall::new(open(bench.dir.path(), &settings, &bench.clock)).watching();
    // What is there can be read, and nothing can be put beside it.
    fs::remove_file(index_of(&bench).join("lock")).unwrap();
    fs::create_dir(index_of(&bench).join("lock")).unwrap();
    assert_all_found(&recall);
    let found = ask_until(&recall, "kettle", |found| found.memories[0].terms.semantic > 0.0);
    assert_eq!(found.memories[0].content, "The kettle is kept in drawer 10.");
    let told = recall.store_handle().take_warning().unwrap();
    assert!(matches!(told, Error::Index { .. }), "{told}");
}

#[test]
fn how_the_index_stands() {
    let state = |recall: &Recall| recall.index_state().unwrap();
    let bench = Bench::new();
    let model = Some("static-256/1".to_owned());
    assert_eq!(state(&bench.recall), IndexState { model: model.clone(), ..IndexState::default() });
    let bench = filled();
    let whole = IndexState { model: model.clone(), passages: 40, ..IndexState::default() };
    assert_eq!(state(&bench.recall), whole);
    bench.store("The xylophone is lent to Ana.");
    assert_eq!(state(&bench.recall), IndexState { behind: 1, ..whole.clone() });

    let with = |name: &str| {
        let settings = format!("[search]\nmodel = \"{name}\"\n");
        state(&Recall::new(open(bench.dir.path(), &settings, &bench.clock)))
    };
    let outdated = |why: &str| Some(IndexFault::Outdated(why.to_owned()));
    let other = with(concat!(env!("CARGO_MANIFEST_DIR"), "/models/static-256"));
    assert_eq!((other.fault, other.passages, other.behind), (outdated("it is of another model"), 0, 41));
    let missing = with("missing");
    assert!(matches!(missing.fault, Some(IndexFault::Model(_))) && missing.model.is_none(), "{missing:?}");

    let generation = fs::read_to_string(index_of(&bench).join("current")).unwrap();
    let rows = index_of(&bench).join(generation).join("rows");
    let bytes = fs::read(&rows).unwrap();
    fs::write(&rows, &bytes[1..]).unwrap();
    assert!(matches!(state(&bench.recall).fault, Some(IndexFault::Outdated(_))));
    fs::write(&rows, &bytes).unwrap();
    assert_eq!(state(&bench.recall), IndexState { behind: 1, ..whole });
    lose_journal(&bench);
    let other = bench.other();
    other.store(entry("The cactus needs water.")).unwrap();
    assert_eq!(state(&other).fault, outdated("it is of another history"));

    fs::remove_dir_all(index_of(&bench)).unwrap();
    fs::write(index_of(&bench), "in the way").unwrap();
    assert!(matches!(state(&other).fault, Some(IndexFault::Closed(_))));
}

#[test]
fn who_waits_for_an_index_is_told_how_far_it_is() {
    let bench = filled();
    fs::remove_dir_all(index_of(&bench)).unwrap();
    let told = Arc::<Mutex<Vec<_>>>::default();
    let heard = Arc::clone(&told);
    let recall = bench.other().telling(move |progress| lock(&heard).push((progress.done, progress.total)));
    assert_all_found(&recall);
    let right: Vec<_> = (0..40).map(|done| (done, Some(40))).collect();
    assert_eq!(*lock(&told), right, "once, when it is made");
}

#[test]
fn who_could_not_write_for_a_while_goes_on_with_what_another_process_wrote() {
    let bench = filled();
    let lock = index_of(&bench).join("lock");
    let store = |from: usize| {
        for n in from..from + 20 {
            bench.store(&format!("The cactus number {n} is in room {n}."));
        }
    };
    let other = bench.other();
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    store(0);
    assert_all_found(&other);
    assert!(other.store_handle().take_warning().is_some());
    fs::remove_dir(&lock).unwrap();
    assert_all_found(&bench.other());
    for from in [20, 40] {
        store(from);
        assert_all_found(&other);
        assert_eq!(other.index_state().unwrap().behind, 0);
    }
}
