use std::collections::BTreeMap;

use super::*;
use crate::id::new_ulid;
use crate::recall::keep::composed;
use crate::recall::record::Times;

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_796_000_000, 0).unwrap()
}

fn new(content: &str) -> NewEntry {
    NewEntry {
        content: content.to_owned(),
        category: "decision_log".to_owned(),
        importance: 3,
        ..NewEntry::default()
    }
}

/// An entry that is there, the nth.
fn known(n: i64, entry: &NewEntry) -> Known {
    let id = MemoryId(new_ulid(n * 1_000_000));
    let path = MemoryPath::parse(&format!("/memories/{}/{n}.md", entry.category)).unwrap();
    written(id, &path, composed(Some(id), entry, now()))
}

fn written(id: MemoryId, path: &MemoryPath, text: String) -> Known {
    let record = Record::read(&text, path, Times::unknown(), &[]);
    Known { id, path: path.clone(), text, record, likeness: Likeness::default() }
}

/// What becomes of `new`: the place of its duplicate among those that are there, of what it replaces, of what is told.
fn decided(new: &NewEntry, known: &[Known], entries: &Entries) -> (Option<usize>, Vec<usize>, Vec<usize>) {
    let places: BTreeMap<_, _> = known.iter().zip(0..).map(|(one, n)| (one.id, n)).collect();
    let decision = decide(new, &new.content, known, entries, now());
    let duplicate_of = decision.duplicate.map(|(one, _)| one.id);
    let stored = Stored {
        memory_id: duplicate_of.unwrap_or(MemoryId(new_ulid(0))),
        path: MemoryPath::parse("/memories/decision_log/new.md").unwrap(),
        superseded: decision.superseded.iter().map(|one| one.id).collect(),
        duplicate_of,
        similar: Vec::new(),
        warned: Vec::new(),
    };
    (
        duplicate_of.map(|id| places[&id]),
        stored.superseded.iter().map(|id| places[id]).collect(),
        most_similar(decision.alike, &stored).iter().map(|one| places[&one.id]).collect(),
    )
}

/// A name, what is stored, what is there, and what becomes of them, as [`decided`] has it.
type Case<'c> = (&'c str, NewEntry, &'c [NewEntry], Fate<'c>);
type Fate<'c> = (Option<usize>, &'c [usize], &'c [usize]);

#[test]
fn an_entry_is_a_duplicate_a_successor_or_beside() {
    let text = "We ship the parser on the third Monday of May.";
    let keyed = |key: &str, content: &str| NewEntry { key: Some(key.to_owned()), ..new(content) };
    let elsewhere = |content: &str| NewEntry { category: "relationship".to_owned(), ..new(content) };
    let cases: &[Case<'_>] = &[
        ("nothing is there", new(text), &[], (None, &[], &[])),
        ("the same", new(&text.to_uppercase()), &[new(text)], (Some(0), &[], &[])),
        ("near", new(&text.replace("We", "We really")), &[new(text)], (Some(0), &[], &[])),
        ("another number", new(&text.replace("third", "fourth")), &[new(text)], (None, &[], &[0])),
        ("of two the first", new(text), &[new(text), new(text)], (Some(0), &[], &[1])),
        ("another category", new(text), &[elsewhere(text)], (None, &[], &[0])),
        ("another key", keyed("a", text), &[keyed("b", text)], (None, &[], &[0])),
        ("a key where there was none", keyed("a", text), &[new(text)], (Some(0), &[], &[])),
        ("the same key", keyed("a", "We ship nothing."), &[keyed("a", text)], (None, &[0], &[])),
        ("the same key and text", keyed("a", text), &[keyed("a", text)], (Some(0), &[], &[])),
        (
            "a duplicate, and the key of another",
            keyed("a", text),
            &[keyed("a", "Tea."), new(text)],
            (Some(1), &[0], &[]),
        ),
        ("nothing alike", new(text), &[new("Tea is green.")], (None, &[], &[])),
    ];
    for (name, entry, there, expected) in cases {
        let known: Vec<_> = there.iter().zip(1..).map(|(one, n)| known(n, one)).collect();
        let (duplicate, superseded, similar) = decided(entry, &known, &Entries::default());
        assert_eq!((duplicate, &superseded[..], &similar[..]), *expected, "{name}");
    }
}

#[test]
fn what_it_is_told_to_replace_is_no_duplicate() {
    let old = known(1, &new("Tea is green."));
    let entry = NewEntry { supersedes: vec![old.id], ..new("Tea is green.") };
    assert_eq!(decided(&entry, &[old], &Entries::default()), (None, vec![0], vec![]));
}

#[test]
fn the_three_most_alike_are_told_and_by_the_settings_replaced() {
    let cosines = [0.6, 0.95, 0.4, 0.7, 0.93];
    let mut there: Vec<_> = (1..=5).map(|n| known(n, &new(&format!("Words of their own, {n}.")))).collect();
    for (one, cosine) in there.iter_mut().zip(cosines) {
        one.likeness.cosine = cosine;
    }
    let entry = new("Something else entirely");
    assert_eq!(decided(&entry, &there, &Entries::default()), (None, vec![], vec![1, 4, 3]));
    let entries = Entries { on_similar: OnSimilar::Supersede, ..Entries::default() };
    assert_eq!(decided(&entry, &there, &entries), (None, vec![1, 4], vec![3, 0]));
}

#[test]
fn what_has_no_category_is_not_told_as_alike() {
    let path = MemoryPath::parse("/memories/sessions/a.md").unwrap();
    let text = "---\nimportance: 2\n---\nTea is green.\n".to_owned();
    let mut there = [written(MemoryId(new_ulid(0)), &path, text)];
    there[0].likeness.cosine = 0.9;
    assert_eq!(decided(&new("Tea is black."), &there, &Entries::default()), (None, vec![], vec![]));
    let entry = NewEntry { supersedes: vec![there[0].id], ..new("Tea is black.") };
    assert_eq!(decided(&entry, &there, &Entries::default()), (None, vec![0], vec![]));
}

#[test]
fn front_matter_in_a_form_of_its_own_is_left_as_it_is() {
    let path = MemoryPath::parse("/memories/decision_log/a.md").unwrap();
    let text = "---\n{importance: 2, expires_at: 2099-12-01}\n---\nTea is green.\n".to_owned();
    let there = [written(MemoryId(new_ulid(0)), &path, text)];
    assert_eq!(decided(&new("Tea is green."), &there, &Entries::default()), (None, vec![], vec![0]));
}

#[test]
fn what_is_in_the_same_words_goes_before_what_is_nearly() {
    let texts =
        ["The house's tea is really green and never sweet.", "the house's tea is green and never sweet"];
    let there: Vec<_> = (1..).zip(texts).map(|(n, text)| known(n, &new(text))).collect();
    for (n, text) in texts.into_iter().enumerate() {
        assert_eq!(decided(&new(text), &there, &Entries::default()).0, Some(n), "{text}");
    }
}

#[test]
fn a_duplicate_gets_the_tags_of_both_and_the_larger_importance() {
    let there = [known(
        1,
        &NewEntry {
            importance: 4,
            tags: vec!["tea".into()],
            ..new("The house's tea is green and never sweet.")
        },
    )];
    let entry = NewEntry {
        tags: vec!["Tea".into(), "colour".into()],
        ..new("The house's tea is really green and never sweet.")
    };
    let (one, text) = decide(&entry, &entry.content, &there, &Entries::default(), now()).duplicate.unwrap();
    let merged = written(one.id, &one.path, text);
    assert_eq!(merged.record.importance, Some(4));
    assert_eq!(merged.record.tags, ["tea", "colour"]);
    assert_eq!(merged.content(), entry.content);
}

#[test]
fn what_is_found_twice_or_has_ended_is_not_told() {
    let there: Vec<_> = (1..=4).map(|n| known(n, &new(&format!("Tea is green, {n}.")))).collect();
    let found = || alike("Tea is green.", &there);
    let stored = Stored {
        memory_id: there[0].id,
        path: there[0].path.clone(),
        superseded: vec![there[1].id],
        duplicate_of: None,
        similar: Vec::new(),
        warned: Vec::new(),
    };
    let similar = most_similar(found().into_iter().chain(found()).collect(), &stored);
    let told: Vec<_> = similar.iter().map(|one| one.id).collect();
    assert_eq!(told, [there[2].id, there[3].id]);
}
