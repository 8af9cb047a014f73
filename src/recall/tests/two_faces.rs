//! What the structured tools write the file tool shows, and the other way round.

use super::*;

#[test]
fn an_entry_is_a_file_as_the_specification_has_it() {
    let bench = Bench::new();
    let stored = bench
        .recall
        .store(NewEntry {
            tags: vec!["editor".to_owned(), "theme".to_owned()],
            importance: 4,
            key: Some("editor.theme".to_owned()),
            expires_at: Some(bench.now() + Duration::days(40)),
            pinned: true,
            ..entry("The user prefers dark mode in every editor.")
        })
        .unwrap();
    let slug = "the-user-prefers-dark-mode-in-every-editor";
    assert_eq!(stored.path.to_string(), format!("/memories/user_preference/{slug}.md"));
    let text = format!(
        "---\nid: {}\nimportance: 4\ntags: [editor, theme]\ncreated_at: 2026-11-30T00:53:20Z\n\
         expires_at: 2027-01-09T00:53:20Z\nkey: editor.theme\npinned: true\n---\n\
         The user prefers dark mode in every editor.\n",
        stored.memory_id
    );
    assert_eq!(bench.text(&stored.path).unwrap(), text);
    let history = bench.recall.store_handle().history().unwrap();
    let version = history.head(&stored.path).unwrap().unwrap();
    assert_eq!(version.memory_id, stored.memory_id, "the journal's identity is the one in the file");
    let memory = bench.recall.get(stored.memory_id).unwrap();
    assert_eq!(memory.content, "The user prefers dark mode in every editor.");
    assert_eq!((memory.importance, memory.pinned), (Some(4), true));
    assert_eq!(memory.tags, ["editor", "theme"]);
}

#[test]
fn what_anybody_writes_is_found_by_the_next_question() {
    let bench = Bench::new();
    bench.store("The deploy window is Tuesday morning.");
    bench.write("/memories/notes/berlin.md", "# Berlin\n\nThe hotel is called Lindenhof.\n");
    assert!(bench.found("hotel in Berlin")[0].contains("Lindenhof"));
    let path = bench.dir.path().join("memories/notes/berlin.md");
    std::fs::write(&path, "# Berlin\n\nThe hotel is called Ostflügel now.\n").unwrap();
    assert!(bench.found("hotel in Berlin")[0].contains("Ostflügel"), "an editor's change");
    std::fs::remove_file(&path).unwrap();
    assert!(bench.found("hotel in Berlin").iter().all(|text| !text.contains("Berlin")), "a deletion");
    let other = bench.other();
    other.store(entry("The office plants are watered by Ngozi.")).unwrap();
    assert!(bench.found("who waters the plants")[0].contains("Ngozi"), "another process");
}

#[test]
fn an_edit_is_found_by_the_next_question_of_who_watches() {
    let bench = Bench::new();
    bench.store("The deploy window is Tuesday morning.");
    let watching = bench.recall.clone().watching();
    let path = bench.dir.path().join("memories/notes.md");
    let ask = Ask { query: "which colour is the lamp".into(), ..Ask::default() };
    for colour in ["red", "green", "blue", "amber", "violet", "ochre"] {
        std::fs::write(&path, format!("The colour of the lamp is {colour}.\n")).unwrap();
        let found = watching.retrieve(&ask).unwrap().memories;
        assert!(found.iter().any(|memory| memory.content.contains(colour)), "{colour}: {found:?}");
    }
}

#[test]
fn a_file_that_is_moved_to_another_folder_has_changed_its_category() {
    let bench = Bench::new();
    let stored = bench.store("The user likes green tea.");
    let to = MemoryPath::parse("/memories/relationship/tea.md").unwrap();
    let from = stored.path.clone();
    let moved = Edit::rename(&from, &to);
    bench.recall.store_handle().change(move |_| Ok::<_, Error>((vec![moved.clone()], ()))).unwrap();
    let ask =
        |category: &str| Ask { query: "tea".into(), categories: vec![category.into()], ..Ask::default() };
    assert_eq!(bench.asked(&ask("user_preference")), [""; 0]);
    assert_eq!(bench.asked(&ask("relationship")), ["The user likes green tea."]);
    assert_eq!(bench.recall.get(stored.memory_id).unwrap().path, to, "and kept its id");
}

#[test]
fn broken_front_matter_makes_a_plain_file() {
    let bench = Bench::new();
    let stored = bench.store("The user likes green tea.");
    let text = bench.text(&stored.path).unwrap().replace("importance: 3", "importance: [3");
    bench.write(&stored.path.to_string(), &text);
    let memory =
        &bench.recall.retrieve(&Ask { query: "green tea".into(), ..Ask::default() }).unwrap().memories[0];
    assert_eq!((memory.category.clone(), memory.importance), (None, None));
    let refused = bench.recall.delete(stored.memory_id, "stale").unwrap_err();
    assert!(matches!(refused, Error::PlainFile { .. }), "{refused}");
}

#[test]
fn deleting_tells_why_and_can_be_undone() {
    let bench = Bench::new();
    let stored = bench.store("The user likes green tea.");
    assert_eq!(bench.recall.delete(stored.memory_id, "the user said so").unwrap(), stored.path);
    assert_eq!(bench.found("green tea"), [""; 0]);
    assert!(matches!(bench.recall.get(stored.memory_id), Err(Error::NoMemory { .. })));
    assert!(matches!(bench.recall.delete(stored.memory_id, "again"), Err(Error::NoMemory { .. })));
    let mut reasons = Vec::new();
    let log = Log { operation: Some(Operation::Deleted), ..Log::default() };
    let history = bench.recall.store_handle().history().unwrap();
    history
        .versions(&log, &mut |version| {
            reasons.push(version.reason);
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .unwrap();
    assert_eq!(reasons, [Some("the user said so".to_owned())]);
}

#[test]
fn the_past_can_be_asked() {
    let bench = Bench::new();
    let new = |content: &str| NewEntry { key: Some("editor".to_owned()), ..entry(content) };
    let first = bench.recall.store(new("The user writes in Vim.")).unwrap();
    bench.pass(Duration::days(1));
    let then = bench.now();
    bench.pass(Duration::days(1));
    let second = bench.recall.store(new("The user writes in Helix now.")).unwrap();
    assert_eq!(second.superseded, [first.memory_id]);
    assert_eq!(bench.found("which editor does the user write in"), ["The user writes in Helix now."]);
    let past =
        Ask { query: "which editor does the user write in".into(), as_of: Some(then), ..Ask::default() };
    assert_eq!(bench.asked(&past), ["The user writes in Vim."]);
    let mut reasons = Vec::new();
    let log = Log { memory: Some(first.memory_id), ..Log::default() };
    let history = bench.recall.store_handle().history().unwrap();
    let each = &mut |version: crate::version::Version| {
        reasons.push(version.reason);
        Ok(std::ops::ControlFlow::Continue(()))
    };
    history.versions(&log, each).unwrap();
    assert_eq!(reasons[0], Some(format!("superseded by {}", second.memory_id)));
}

#[test]
fn a_category_whose_folder_is_a_file_is_an_error() {
    let bench = Bench::new();
    bench.write("/memories/user_preference", "no directory\n");
    let error = bench.recall.store(entry("The user likes tea.")).unwrap_err();
    assert!(matches!(error, Error::BelowFile { .. }), "{error}");
}

#[test]
fn what_was_edited_by_hand_before_counts_when_an_entry_is_stored() {
    let bench = Bench::new();
    let hand = bench.dir.path().join("memories/user_preference");
    std::fs::create_dir_all(&hand).unwrap();
    std::fs::write(hand.join("port.md"), "---\nimportance: 3\nkey: port\n---\nThe port is 1111.\n").unwrap();
    let new = NewEntry { key: Some("port".into()), ..entry("The port is 2222 now.") };
    assert_eq!(bench.recall.store(new).unwrap().superseded.len(), 1);
    assert_eq!(live(&bench.recall), 1);
}

#[test]
fn front_matter_that_cannot_be_edited_stays_and_the_new_entry_is_stored_beside_it() {
    let bench = Bench::new();
    let text = "---\n{importance: 2, expires_at: 2099-12-01}\n---\nAnn is the baker\n";
    bench.write("/memories/user_preference/ann.md", text);
    let stored =
        bench.recall.store(NewEntry { key: Some("baker".into()), ..entry("Ann is the baker") }).unwrap();
    assert_eq!(stored.duplicate_of, None);
    assert_eq!(bench.text(&MemoryPath::parse("/memories/user_preference/ann.md").unwrap()).unwrap(), text);
    assert!(bench.text(&stored.path).unwrap().contains("key: baker"));
}

#[test]
fn a_memory_that_was_moved_by_hand_is_deleted_where_it_is() {
    let bench = Bench::new();
    let stored = bench.store("The user likes green tea.");
    let memories = bench.dir.path().join("memories/user_preference");
    std::fs::rename(memories.join("the-user-likes-green-tea.md"), memories.join("tea.md")).unwrap();
    bench.recall.delete(stored.memory_id, "stale").unwrap();
    assert!(!memories.join("tea.md").exists());
}

#[test]
fn the_past_of_a_directory_is_asked_by_where_things_were_then() {
    let bench = Bench::new();
    let stored = bench.store("The user likes green tea.");
    bench.pass(Duration::days(1));
    let then = bench.now();
    bench.pass(Duration::days(1));
    bench.recall.delete(stored.memory_id, "stale").unwrap();
    let ask = |prefix: &str| Ask {
        query: "green tea".into(),
        as_of: Some(then),
        path_prefix: Some(MemoryPath::parse(prefix).unwrap()),
        ..Ask::default()
    };
    assert_eq!(bench.asked(&ask("/memories/user_preference")).len(), 1);
    assert_eq!(bench.asked(&ask("/memories/relationship")).len(), 0);
}

#[test]
fn lines_are_those_of_the_file() {
    let bench = Bench::new();
    let head = "---\nimportance: 3\n---\n";
    bench.write("/memories/user_preference/a.md", &format!("{head}\n\nleading\nsecond\n"));
    for found in [
        bench.recall.list(&Ask::default()),
        bench.recall.retrieve(&Ask { query: "leading".into(), ..Ask::default() }),
    ] {
        let memory = &found.unwrap().memories[0];
        assert_eq!((memory.lines, memory.content.as_str()), ((6, 7), "leading\nsecond"));
    }
}

#[test]
fn what_is_stored_again_ends_when_it_is_said_last() {
    let bench = Bench::new();
    let until =
        |days| NewEntry { expires_at: Some(bench.now() + Duration::days(days)), ..entry("Ship on Friday.") };
    let first = bench.recall.store(entry("Ship on Friday.")).unwrap();
    let end = |expected: Option<DateTime<Utc>>| {
        assert_eq!(bench.recall.get(first.memory_id).unwrap().expires_at, expected);
    };
    for days in [30, 10] {
        assert_eq!(bench.recall.store(until(days)).unwrap().duplicate_of, Some(first.memory_id));
        end(until(days).expires_at);
    }
    bench.store("Ship on Friday.");
    end(None);
}

#[test]
fn notes_without_a_category_do_not_crowd_out_entries_that_are_alike() {
    let bench = Bench::new();
    let older = bench.store("The parser ships on the third Monday of May.");
    for n in 0..6 {
        let text = format!("---\nimportance: 2\n---\nThe parser ships on the fourth Monday of May, {n}.\n");
        bench.write(&format!("/memories/sessions/{n}.md"), &text);
    }
    let newer = bench.store("The parser ships on the fourth Monday of May.");
    let told: Vec<_> = newer.similar.iter().map(|one| one.id).collect();
    assert_eq!(told, [older.memory_id]);
}
