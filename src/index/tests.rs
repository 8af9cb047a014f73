//! An index as its callers see it: what is found, what is not, and what is left after accidents.

#![allow(clippy::disallowed_macros, reason = "a process of its own says how far it is")]

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

fn doc(memory: i64, text: &str) -> Doc {
    let facts = Facts {
        is_entry: true,
        category: Some("notes".into()),
        importance: 3,
        updated: 1_000,
        ..Facts::default()
    };
    Doc { memory, facts, passages: vec![text.to_owned()] }
}

fn gone(memory: i64) -> Doc {
    Doc { memory, ..Doc::default() }
}

struct Place {
    dir: tempfile::TempDir,
    model: Arc<Model>,
}

impl Place {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), model: Arc::new(Model::builtin().unwrap()) }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("index")
    }

    fn open(&self) -> Index {
        Index::open(&self.path(), Arc::clone(&self.model)).unwrap()
    }
}

/// Updates. A process that another test starts has the lock for the moment before it is itself.
fn update(
    index: &mut Index,
    base: impl Into<Mark> + Copy,
    mark: impl Into<Mark> + Copy,
    docs: &[Doc],
) -> Result<Written, IndexError> {
    until_free(|| index.update(base, mark, &mut docs.iter().cloned()))
}

fn rebuild(index: &mut Index, mark: i64, docs: &[Doc]) -> Result<Written, IndexError> {
    until_free(|| index.rebuild(mark, &mut docs.iter().cloned()))
}

fn until_free(mut write: impl FnMut() -> Result<Written, IndexError>) -> Result<Written, IndexError> {
    loop {
        match write() {
            Ok(Written::Busy) => std::thread::yield_now(),
            written => return written,
        }
    }
}

fn put(index: &mut Index, mark: i64, docs: impl IntoIterator<Item = Doc>) {
    let docs: Vec<Doc> = docs.into_iter().collect();
    let base = index.seal();
    assert_eq!(update(index, base, mark, &docs).unwrap(), Written::Done);
    assert_eq!(index.mark(), mark);
}

fn words(index: &Index, tail: &Tail, text: &str, filter: &Filter) -> Vec<i64> {
    let query = Query { text, filter, candidates: 10, words: 64, lexical: true, semantic: false };
    let mut hits = index.search(tail, &query).unwrap().hits;
    hits.sort_by(|one, other| other.lexical.total_cmp(&one.lexical).then(one.memory.cmp(&other.memory)));
    hits.into_iter().map(|hit| hit.memory).collect()
}

fn find(index: &Index, text: &str) -> Vec<i64> {
    words(index, &Tail::default(), text, &Filter::default())
}

fn listed(index: &Index, tail: &Tail, filter: &Filter) -> Vec<i64> {
    let mut found = Vec::new();
    index.each(tail, filter, &mut |seen| found.push(seen.memory)).unwrap();
    found.sort_unstable();
    found
}

#[test]
fn what_is_put_is_found_until_it_is_replaced_or_gone() {
    let place = Place::new();
    let mut index = place.open();
    assert_eq!(index.mark(), 0);
    assert_eq!(find(&index, "editors"), [] as [i64; 0]);
    put(
        &mut index,
        3,
        vec![doc(1, "The user prefers dark editors."), doc(2, "cà phê sữa đá"), doc(3, "an editor")],
    );
    assert_eq!(find(&index, "editor"), [3, 1]);
    assert_eq!(find(&index, "ca phe"), [2]);
    put(&mut index, 5, vec![doc(3, "a kitchen"), gone(1)]);
    assert_eq!(find(&index, "editor"), [] as [i64; 0]);
    assert_eq!(find(&index, "kitchens"), [3]);
    assert_eq!(listed(&index, &Tail::default(), &Filter::default()), [2, 3]);

    let again = place.open();
    assert_eq!(again.mark(), 5);
    assert_eq!(find(&again, "kitchen"), [3]);
}

#[test]
fn a_memory_that_comes_twice_counts_once() {
    let place = Place::new();
    let mut index = place.open();
    put(&mut index, 1, vec![doc(1, "apples"), doc(1, "pears"), doc(2, "apples")]);
    assert_eq!(find(&index, "apples"), [2]);
    assert_eq!(find(&index, "pears"), [1]);
}

#[test]
fn a_long_file_is_found_to_its_end() {
    let place = Place::new();
    let mut index = place.open();
    let last = usize::from(u16::MAX) + 1;
    let mut long = doc(1, "");
    long.passages = vec!["a".to_owned(); last];
    long.passages.push("the end".to_owned());
    put(&mut index, 1, vec![long]);
    let filter = Filter::default();
    let query =
        Query { text: "end", filter: &filter, candidates: 10, words: 64, lexical: true, semantic: false };
    let hits = place.open().search(&Tail::default(), &query).unwrap().hits;
    assert_eq!(hits.iter().map(|hit| hit.ordinal as usize).collect::<Vec<_>>(), [last]);
}

#[test]
fn an_exact_form_is_found_before_a_bare_one() {
    let place = Place::new();
    let mut index = place.open();
    put(
        &mut index,
        1,
        vec![doc(1, "ca phe"), doc(2, "cà phê"), doc(3, "Mueller"), doc(4, "Müller"), doc(5, "Muller")],
    );
    assert_eq!(find(&index, "cà phê"), [2, 1]);
    assert_eq!(find(&index, "Müller")[0], 4);
    let mut all = find(&index, "Müller");
    all.sort_unstable();
    assert_eq!(all, [3, 4, 5]);
    assert_eq!(find(&index, "mueller"), [3, 4]);
}

#[test]
fn filters_admit_what_they_say() {
    let place = Place::new();
    let mut index = place.open();
    let with = |memory: i64, change: &dyn Fn(&mut Facts)| {
        let mut doc = doc(memory, "same words");
        change(&mut doc.facts);
        doc
    };
    let docs = vec![
        with(1, &|_| {}),
        with(2, &|facts| facts.category = Some("plans".into())),
        with(3, &|facts| facts.importance = 5),
        with(4, &|facts| facts.tags = vec!["Café".into(), "two".into()]),
        with(5, &|facts| facts.key = Some("editor.theme".into())),
        with(6, &|facts| facts.fold = 0xdead_beef_0000_0007),
        with(7, &|facts| facts.expires = Some(2_000)),
        with(8, &|facts| facts.updated = 5_000),
        with(9, &|facts| (facts.is_entry, facts.category) = (false, None)),
        with(10, &|facts| facts.expires = Some(1 << 40)),
    ];
    let all = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    let only = |ids: &[i64]| Some(Arc::new(ids.iter().copied().collect()));
    let cases: Vec<(Filter, &[i64])> = vec![
        (Filter::default(), &all),
        (Filter { now: 1_999, ..Filter::default() }, &all),
        (Filter { now: 2_000, ..Filter::default() }, &[1, 2, 3, 4, 5, 6, 8, 9, 10]),
        (Filter { categories: vec!["plans".into()], ..Filter::default() }, &[2]),
        (
            Filter { categories: vec!["plans".into(), "notes".into()], ..Filter::default() },
            &[1, 2, 3, 4, 5, 6, 7, 8, 10],
        ),
        (Filter { categories: vec!["unknown".into()], ..Filter::default() }, &[]),
        (Filter { min_importance: 4, ..Filter::default() }, &[3]),
        (Filter { tags: vec!["cAFÉ".into()], ..Filter::default() }, &[4]),
        (Filter { tags: vec!["café".into(), "two".into()], ..Filter::default() }, &[4]),
        (Filter { tags: vec!["café".into(), "three".into()], ..Filter::default() }, &[]),
        (Filter { key: Some("editor.theme".into()), ..Filter::default() }, &[5]),
        (
            Filter {
                key: Some("editor.theme".into()),
                categories: vec!["plans".into()],
                ..Filter::default()
            },
            &[],
        ),
        (Filter { fold: Some(0xdead_beef_0000_0007), ..Filter::default() }, &[6]),
        (Filter { since: Some(1_001), ..Filter::default() }, &[8]),
        (Filter { entries_only: true, ..Filter::default() }, &[1, 2, 3, 4, 5, 6, 7, 8, 10]),
        (Filter { memories: only(&[2, 9, 77]), ..Filter::default() }, &[2, 9]),
        (Filter { memories: only(&[]), ..Filter::default() }, &[]),
    ];
    let mut tail = Tail::default();
    for doc in docs.clone() {
        tail.put(&index, doc);
    }
    let check = |index: &Index, tail: &Tail, hidden: Option<i64>| {
        for (filter, expected) in &cases {
            let expected: Vec<i64> = expected.iter().copied().filter(|id| Some(*id) != hidden).collect();
            assert_eq!(listed(index, tail, filter), expected, "{filter:?}");
            let mut found = words(index, tail, "words", filter);
            found.sort_unstable();
            assert_eq!(found, expected, "{filter:?}");
        }
    };
    check(&index, &tail, None);
    put(&mut index, 10, docs.clone());
    check(&index, &Tail::default(), None);
    check(&index, &tail, None);
    let mut tail = Tail::default();
    tail.put(&index, gone(3));
    check(&index, &tail, Some(3));
}

#[test]
fn a_tail_scores_like_the_index() {
    let texts =
        ["the red house", "a red car and a red bike", "houses and cars", "blue", "nothing here", "red"];
    let docs: Vec<Doc> = texts.iter().zip(1..).map(|(text, memory)| doc(memory, text)).collect();
    let place = Place::new();
    let mut whole = place.open();
    put(&mut whole, 6, docs.clone());
    let filter = Filter::default();
    let query = Query {
        text: "red houses, blue sky",
        filter: &filter,
        candidates: 10,
        words: 64,
        lexical: true,
        semantic: false,
    };
    let sorted = |mut hits: Hits| {
        hits.hits.sort_by_key(|hit| hit.memory);
        hits
    };
    let expected = sorted(whole.search(&Tail::default(), &query).unwrap());
    assert_eq!(expected.hits.len(), 5);
    assert!(expected.hits.iter().all(|hit| hit.lexical > 0.0 && hit.lexical < expected.ideal));
    for split in 0..docs.len() {
        let place = Place::new();
        let mut index = place.open();
        if split > 0 {
            put(&mut index, 1, docs[..split].to_vec());
        }
        let mut tail = Tail::default();
        for doc in &docs[split..] {
            tail.put(&index, doc.clone());
        }
        let found = sorted(index.search(&tail, &query).unwrap());
        assert!((found.ideal - expected.ideal).abs() < 1e-4, "{split}");
        for (found, expected) in found.hits.iter().zip(&expected.hits) {
            assert_eq!(found.memory, expected.memory);
            assert!((found.lexical - expected.lexical).abs() < 1e-4, "{split}: {found:?} {expected:?}");
        }
    }
}

#[test]
fn a_tail_hides_what_the_index_knew() {
    let place = Place::new();
    let mut index = place.open();
    put(&mut index, 2, vec![doc(1, "old words"), doc(2, "other words")]);
    let mut tail = Tail::default();
    tail.put(&index, doc(1, "new letters"));
    tail.put(&index, doc(1, "newer letters"));
    assert_eq!(tail.len(), 1);
    let filter = Filter::default();
    assert_eq!(words(&index, &tail, "words", &filter), [2]);
    assert_eq!(words(&index, &tail, "letters", &filter), [1]);
    put(&mut index, 3, vec![doc(1, "words again")]);
    assert_eq!(words(&index, &tail, "words", &filter), [2], "also after the index went on");
    put(&mut index, 4, tail.into_docs());
    assert_eq!(find(&index, "letters"), [1]);
}

#[test]
fn many_small_updates_leave_few_segments() {
    let place = Place::new();
    let mut index = place.open();
    for mark in 1..=60 {
        put(&mut index, mark, vec![doc(mark % 40, &format!("number{mark} of all"))]);
    }
    assert_eq!(find(&index, "number60"), [20]);
    assert_eq!(find(&index, "number20"), [] as [i64; 0]);
    assert_eq!(listed(&index, &Tail::default(), &Filter::default()).len(), 40);
    let files = files(&place.path());
    assert!(files.len() < 150, "{}: {files:?}", files.len());
}

#[test]
fn one_writes_while_others_read() {
    let place = Place::new();
    let (mut one, mut other) = (place.open(), place.open());
    put(&mut one, 1, vec![doc(1, "first")]);
    assert_eq!(other.mark(), 0);
    other.refresh().unwrap();
    assert_eq!((other.mark(), find(&other, "first")), (1, vec![1]));
    for mark in 2..30 {
        put(&mut one, mark, vec![doc(1, "second"), doc(mark, "first")]);
        assert_eq!(find(&other, "first").len(), 1.max(usize::try_from(other.mark()).unwrap() - 1).min(10));
        if mark % 7 == 0 {
            other.refresh().unwrap();
            assert_eq!(other.mark(), mark);
        }
    }
    let lock = loop {
        if let Some(lock) = place::lock(&place.path()).unwrap() {
            break lock;
        }
    };
    assert_eq!(other.update(28, 40, &mut std::iter::empty()).unwrap(), Written::Busy);
    drop(lock);
    assert_eq!(
        update(&mut other, 28, 30, &[doc(50, "third")]).unwrap(),
        Written::Lost,
        "the other one was there before"
    );
    assert_eq!((other.mark(), find(&other, "third")), (29, vec![]));
}

#[test]
fn an_index_made_anew_replaces_the_old_one_at_once() {
    let place = Place::new();
    let (mut one, mut other) = (place.open(), place.open());
    put(&mut one, 1, vec![doc(1, "first"), doc(2, "first")]);
    other.refresh().unwrap();
    rebuild(&mut one, 2, &[doc(2, "second")]).unwrap();
    assert_eq!(find(&other, "first").len(), 2);
    other.refresh().unwrap();
    assert_eq!((other.mark(), find(&other, "first"), find(&other, "second")), (2, vec![], vec![2]));
    let generations =
        fs::read_dir(place.path()).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_dir()).count();
    assert_eq!(generations, 1);
}

/// What changed since says nothing of what was there before.
#[test]
fn a_removed_index_is_not_begun_with_what_changed_since() {
    let place = Place::new();
    let mut index = place.open();
    put(&mut index, 7, vec![doc(1, "first")]);
    fs::remove_dir_all(place.path()).unwrap();
    index.refresh().unwrap();
    assert_eq!((index.mark(), find(&index, "first")), (0, vec![]));
    assert_eq!(update(&mut index, 7, 8, &[doc(2, "second")]).unwrap(), Written::Lost);
    assert_eq!((place.open().mark(), find(&index, "second")), (0, vec![]));
    put(&mut index, 8, vec![doc(1, "first"), doc(2, "second")]);
    assert_eq!(find(&index, "first"), [1]);
}

#[test]
fn an_index_of_another_history_is_not_gone_on_with() {
    let place = Place::new();
    let mut index = place.open();
    let at = |version, chain| Mark { version, chain };
    assert_eq!(update(&mut index, 0, at(5, 1), &[doc(1, "first")]).unwrap(), Written::Done);
    for base in [at(5, 2), at(4, 1), at(6, 1), at(0, 0)] {
        let written = update(&mut index, base, at(8, 3), &[doc(2, "second")]);
        assert_eq!(written.unwrap(), Written::Lost, "{base:?}");
    }
    assert_eq!((index.seal(), find(&index, "second")), (at(5, 1), vec![]));
    let written = update(&mut index, at(5, 1), at(8, 3), &[doc(2, "second")]);
    assert_eq!((written.unwrap(), index.seal()), (Written::Done, at(8, 3)));
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(dir).sort_by_file_name().into_iter().map(Result::unwrap);
    files.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).collect()
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&file, target).unwrap();
    }
}

/// Whatever is cut off or missing: the index is the one of a commit, or empty; and can be built on.
#[test]
fn a_damaged_index_never_answers_wrongly() {
    let place = Place::new();
    let mut index = place.open();
    let texts = |from: i64, to: i64| (from..to).map(|id| doc(id, &format!("word{id} common")));
    put(&mut index, 5, texts(0, 40));
    put(&mut index, 6, vec![gone(1), doc(2, "changed common")]);
    put(&mut index, 7, texts(40, 45));
    drop(index);
    let whole = |index: &Index| {
        let all = listed(index, &Tail::default(), &Filter::default());
        assert_eq!(all.len(), 44);
        assert_eq!(find(index, "word44"), [44]);
        assert_eq!(find(index, "word2"), [] as [i64; 0]);
        assert_eq!(find(index, "changed"), [2]);
    };
    let mut damaged = 0;
    let originals = files(&place.path());
    assert!(originals.len() > 10);
    for original in &originals {
        let length = fs::metadata(original).unwrap().len();
        let cuts = [
            None,
            Some(0),
            Some(1),
            Some(length / 3),
            Some(length / 2),
            length.checked_sub(9),
            length.checked_sub(1),
        ];
        for cut in cuts {
            let hurt = Place::new();
            copy(&place.path(), &hurt.path());
            let file = hurt.path().join(original.strip_prefix(place.path()).unwrap());
            match cut {
                None => fs::remove_file(&file).unwrap(),
                Some(length) => {
                    fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(length).unwrap();
                }
            }
            let mut index = hurt.open();
            match index.mark() {
                0 => {
                    damaged += 1;
                    assert_eq!(listed(&index, &Tail::default(), &Filter::default()), [] as [i64; 0]);
                    put(&mut index, 9, texts(0, 3));
                    assert_eq!(find(&index, "common"), [0, 1, 2]);
                }
                7 => {
                    whole(&index);
                    put(&mut index, 9, vec![doc(77, "more")]);
                    assert_eq!(find(&index, "more"), [77]);
                }
                mark => panic!("{file:?} at {cut:?}: {mark}"),
            }
        }
    }
    assert!(damaged > originals.len());
}

/// Whatever bit is another one: the index answers as it did, or counts as empty, or (a vector) says that it is damaged.
#[test]
fn a_bit_that_changed_never_gives_a_wrong_answer() {
    let place = Place::new();
    let mut index = place.open();
    put(&mut index, 5, (0..40).map(|id| doc(id, &format!("word{id} common{}", id % 3))));
    put(&mut index, 6, vec![gone(1), doc(2, "changed common")]);
    put(&mut index, 7, vec![doc(50, "word50 common1")]);
    let filter = Filter { categories: vec!["notes".into()], min_importance: 2, ..Filter::default() };
    let answers = |index: &Index| {
        let mut answers = Vec::new();
        for text in ["common1 word4", "changed", "word1", "word50", "word39"] {
            let query =
                Query { text, filter: &filter, candidates: 100, words: 64, lexical: true, semantic: true };
            let mut hits = index.search(&Tail::default(), &query)?.hits;
            hits.sort_by_key(|hit| hit.memory);
            answers.push(hits);
        }
        Ok::<_, IndexError>((answers, listed(index, &Tail::default(), &filter)))
    };
    let expected = answers(&index).unwrap();
    assert_eq!(expected.1.len(), 40);
    drop(index);
    let mut empty = 0;
    for file in files(&place.path()) {
        let original = fs::read(&file).unwrap();
        let step = (original.len() / 16).max(1);
        for place_of_bit in (0..original.len()).step_by(step) {
            let mut bytes = original.clone();
            bytes[place_of_bit] ^= 1 << (place_of_bit % 8);
            fs::write(&file, bytes).unwrap();
            let index = place.open();
            match index.mark() {
                0 => empty += 1,
                7 => match answers(&index) {
                    Ok(found) => assert!(found == expected, "{file:?}, byte {place_of_bit}"),
                    Err(_) => assert!(file.ends_with("vectors"), "{file:?}, byte {place_of_bit}"),
                },
                mark => panic!("{file:?}, byte {place_of_bit}: {mark}"),
            }
        }
        fs::write(&file, &original).unwrap();
    }
    assert!(empty > 200, "{empty}");
    assert_eq!(answers(&place.open()).unwrap(), expected);
}

/// Nonsense that has the right checksum: the answer may be any, and a panic is an error.
#[test]
fn a_panic_of_tantivy_is_an_error() {
    let place = Place::new();
    put(&mut place.open(), 5, (0..40).map(|id| doc(id, &format!("word{id} common"))));
    let mut errors = 0;
    for file in files(&place.path()) {
        if !file
            .extension()
            .is_some_and(|end| ["term", "idx", "fast", "fieldnorm"].iter().any(|it| end == *it))
        {
            continue;
        }
        let original = fs::read(&file).unwrap();
        let footer = original.iter().rposition(|byte| *byte == b'{').unwrap();
        let footer = original[..footer].iter().rposition(|byte| *byte == b'{').unwrap();
        for at in 0..footer {
            let mut bytes = original[..footer].to_vec();
            bytes[at] ^= 0x80;
            let version = serde_json::to_string(tantivy::version()).unwrap();
            let json = format!("{{\"version\":{version},\"crc\":{}}}", crc32fast::hash(&bytes));
            bytes.extend_from_slice(json.as_bytes());
            bytes.extend_from_slice(&u32::try_from(json.len()).unwrap().to_le_bytes());
            bytes.extend_from_slice(&original[original.len() - 4..]);
            fs::write(&file, bytes).unwrap();
            let index = place.open();
            let filter = Filter::default();
            let query = Query {
                text: "common word7",
                filter: &filter,
                candidates: 10,
                words: 64,
                lexical: true,
                semantic: false,
            };
            errors += usize::from(index.mark() == 0 || index.search(&Tail::default(), &query).is_err());
        }
        fs::write(&file, &original).unwrap();
    }
    assert!(errors > 10, "{errors}");
    assert_eq!(find(&place.open(), "word7"), [7]);
}

/// Files that are there already are not read again, unless they changed.
#[test]
fn damage_is_noticed_when_others_wrote() {
    let place = Place::new();
    let (mut one, mut other) = (place.open(), place.open());
    put(&mut one, 5, (0..10).map(|id| doc(id, "common words")));
    other.refresh().unwrap();
    assert_eq!(other.mark(), 5);
    let postings =
        files(&place.path()).into_iter().find(|path| path.extension().is_some_and(|end| end == "idx"));
    let postings = postings.unwrap();
    let mut bytes = fs::read(&postings).unwrap();
    bytes[2] ^= 1;
    fs::write(&postings, bytes).unwrap();
    // What was damaged is not written on, and is nobody's any more.
    let _ = update(&mut one, 5, 6, &[doc(20, "more")]);
    other.refresh().unwrap();
    assert_eq!((one.mark(), other.mark()), (0, 0));
    put(&mut one, 6, vec![doc(1, "all")]);
    other.refresh().unwrap();
    assert_eq!((other.mark(), find(&other, "all")), (6, vec![1]));
}

/// A file that is mapped and cut short ends the process that looks at it.
#[test]
fn files_that_are_cut_short_while_they_are_open_do_no_harm() {
    let place = Place::new();
    let mut index = place.open();
    put(&mut index, 5, (0..3000).map(|id| doc(id, &format!("common number{id}"))));
    let index = place.open();
    for file in files(&place.path()) {
        fs::OpenOptions::new().write(true).open(file).unwrap().set_len(0).unwrap();
    }
    assert_eq!(find(&index, "number2345"), [2345]);
    assert_eq!(find(&index, "common").len(), 10);
    let filter = Filter::default();
    let query =
        Query { text: "number", filter: &filter, candidates: 10, words: 64, lexical: false, semantic: true };
    index.search(&Tail::default(), &query).unwrap_err();
}

/// What an update that was killed leaves: longer files, files that nobody names, a generation that does not count.
#[test]
fn leftovers_of_a_killed_writer_do_no_harm() {
    let place = Place::new();
    let mut index = place.open();
    put(&mut index, 5, (0..10).map(|id| doc(id, "common")));
    let generation = place.path().join(place::current(&place.path()).unwrap());
    for name in
        fs::read_dir(&generation).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file())
    {
        let mut bytes = fs::read(&name).unwrap();
        bytes.extend_from_slice(&[7; 1000]);
        fs::write(&name, bytes).unwrap();
    }
    fs::write(generation.join("dead.2"), [255; 8]).unwrap();
    fs::create_dir(place.path().join("00000000000000aa")).unwrap();
    let mut index = place.open();
    assert_eq!(index.mark(), 5);
    assert_eq!(find(&index, "common").len(), 10);
    put(&mut index, 6, vec![doc(3, "changed"), doc(20, "common")]);
    assert_eq!(find(&index, "changed"), [3]);
    let index = place.open();
    assert_eq!((index.mark(), listed(&index, &Tail::default(), &Filter::default()).len()), (6, 11));
    assert!(!place.path().join("00000000000000aa").exists());
}

fn generations(place: &Place) -> Vec<String> {
    let names = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap());
    let names = names.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

/// The number of a memory that has no place in the index, as a full disk has for none.
const TOO_HIGH: i64 = 1 << 40;

#[test]
fn a_failed_attempt_leaves_nothing_behind() {
    let place = Place::new();
    let mut index = place.open();
    let failing = [doc(1, "first"), doc(TOO_HIGH, "second")];
    update(&mut index, 0, 5, &failing).unwrap_err();
    assert_eq!(generations(&place), [] as [&str; 0]);
    put(&mut index, 5, vec![doc(1, "first")]);
    let current = generations(&place);
    let before = files(&place.path());
    rebuild(&mut index, 6, &failing).unwrap_err();
    assert_eq!((generations(&place), files(&place.path())), (current.clone(), before.clone()));
    // A killed one leaves what the next attempt removes, even one that fails.
    let texts = place.path().join(&current[0]).join("tantivy");
    for left in ["00000000000000aa", "00000000000000ab"] {
        fs::create_dir(place.path().join(left)).unwrap();
    }
    for dir in [place.path(), place.path().join(&current[0]), texts] {
        fs::write(dir.join("next-00000000000000ac"), "half").unwrap();
    }
    rebuild(&mut index, 6, &failing).unwrap_err();
    assert_eq!((generations(&place), files(&place.path())), (current, before));
    assert_eq!(find(&place.open(), "first"), [1]);
}

#[test]
fn a_directory_in_the_place_of_a_file_is_replaced_or_left() {
    let place = Place::new();
    fs::create_dir_all(place.path().join("current/below")).unwrap();
    let mut index = place.open();
    put(&mut index, 5, vec![doc(1, "first")]);
    assert_eq!((find(&place.open(), "first"), generations(&place).len()), (vec![1], 1));
    let lock = place.path().join("lock");
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    update(&mut index, 5, 6, &[doc(2, "second")]).unwrap_err();
    assert_eq!((find(&place.open(), "first"), generations(&place).len()), (vec![1], 2));
}

/// What an attempt that fails had written does not stay for ever, nor what others wrote who are gone.
#[test]
fn many_that_write_leave_few_files() {
    let place = Place::new();
    let mut lasting = place.open();
    for mark in 1..=60 {
        let mut passing = place.open();
        lasting.refresh().unwrap();
        let index = if mark % 2 == 0 { &mut lasting } else { &mut passing };
        let failing = [doc(1, "first"), doc(TOO_HIGH, "second")];
        update(index, mark - 1, mark, &failing).unwrap_err();
        put(index, mark, vec![doc(mark % 10, &format!("number{mark}"))]);
    }
    let files = files(&place.path());
    assert!(files.len() < 100, "{}: {files:?}", files.len());
}

/// Names in its directory that lead elsewhere are no part of it, and nothing is written through them.
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    put(&mut place.open(), 5, vec![doc(1, "first")]);
    let parts = files(&place.path());
    assert!(parts.len() > 10);
    for part in &parts {
        let hurt = Place::new();
        copy(&place.path(), &hurt.path());
        let file = hurt.path().join(part.strip_prefix(place.path()).unwrap());
        let strange = hurt.dir.path().join("strange");
        fs::rename(&file, &strange).unwrap();
        let before = fs::read(&strange).unwrap();
        symlink(&strange, &file).unwrap();
        let mut index = hurt.open();
        let (base, docs) = (index.seal(), [doc(1, "first"), doc(2, "second")]);
        // A lock that is a link makes it impossible to write.
        if update(&mut index, base, 6, &docs).is_ok() {
            assert_eq!((find(&index, "first"), find(&index, "second")), (vec![1], vec![2]), "{file:?}");
        }
        let _ = rebuild(&mut index, 7, &docs);
        assert_eq!(fs::read(&strange).unwrap(), before, "{file:?}");
    }
}

#[test]
fn a_directory_that_is_a_link_is_not_used() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    put(&mut place.open(), 5, vec![doc(1, "first")]);
    let generation = place::current(&place.path()).unwrap();
    for part in [String::new(), generation.clone(), format!("{generation}/tantivy")] {
        let hurt = Place::new();
        copy(&place.path(), &hurt.path());
        let part = if part.is_empty() { hurt.path() } else { hurt.path().join(part) };
        let outside = hurt.dir.path().join("outside");
        fs::rename(&part, &outside).unwrap();
        symlink(&outside, &part).unwrap();
        let before = contents(&outside);
        let mut index = hurt.open();
        assert_eq!(index.mark(), 0, "{part:?}");
        let written = update(&mut index, 0, 6, &[doc(2, "second")]);
        assert_eq!(written.is_err(), part == hurt.path(), "{part:?}");
        assert_eq!(contents(&outside), before, "{part:?}");
    }
}

fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    files(dir).into_iter().map(|file| (file.clone(), fs::read(&file).unwrap())).collect()
}

/// To open a pipe is to wait for somebody at its other end.
#[test]
fn pipes_are_not_waited_for() {
    let place = Place::new();
    put(&mut place.open(), 5, vec![doc(1, "first")]);
    let (mut hurt, mut pipes) = (Vec::new(), Vec::new());
    for part in files(&place.path()) {
        let copied = Place::new();
        copy(&place.path(), &copied.path());
        pipes.push(copied.path().join(part.strip_prefix(place.path()).unwrap()));
        hurt.push(copied);
    }
    for pipe in &pipes {
        fs::remove_file(pipe).unwrap();
    }
    assert!(std::process::Command::new("mkfifo").args(&pipes).status().unwrap().success());
    for hurt in hurt {
        let mut index = hurt.open();
        let base = index.seal();
        let docs = [doc(1, "first"), doc(2, "second")];
        if update(&mut index, base, 6, &docs).is_ok() {
            assert_eq!((find(&index, "first"), find(&index, "second")), (vec![1], vec![2]));
        }
        let _ = rebuild(&mut index, 7, &docs);
    }
}

#[test]
fn long_queries_keep_their_rarest_words() {
    let place = Place::new();
    let mut index = place.open();
    put(&mut index, 1, (0..100).map(|id| doc(id, &format!("common{} rare{id}", id % 2))));
    let text = (0..100).rev().map(|id| format!("absent{id}")).collect::<Vec<_>>().join(" ");
    let text = format!("common0 {text} rare42");
    assert_eq!(find(&index, &text), [] as [i64; 0], "64 words that nobody has are rarer");
    let long = "common0 ".repeat(100_000) + "rare43";
    assert_eq!(find(&index, &long).len(), 10);
    assert_eq!(find(&index, ""), [] as [i64; 0]);
    assert_eq!(find(&index, "the of and"), [] as [i64; 0]);
}

/// Where a process finds the directory that it is to write to.
const WRITER: &str = "MEMDIR_TEST_INDEX_WRITER";

/// What an update up to a mark changes: one of twenty memories.
fn change(mark: i64) -> Doc {
    doc(mark % 20, &format!("text{mark} common"))
}

/// Not a test of its own: the process that is killed.
#[test]
#[ignore = "it is run by the test of killed writers"]
fn writes_until_it_is_killed() {
    let Some(dir) = std::env::var_os(WRITER) else { return };
    let mut index = Index::open(Path::new(&dir), Arc::new(Model::builtin().unwrap())).unwrap();
    loop {
        let mark = index.mark() + 1;
        put(&mut index, mark, vec![change(mark)]);
        println!("\n{mark}");
    }
}

#[test]
fn a_killed_writer_leaves_a_commit() {
    use std::io::BufRead as _;
    use std::process::{Command, Stdio};
    let place = Place::new();
    let mut least = 0;
    for kill in 0..8 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "index::tests::writes_until_it_is_killed", "--ignored", "--nocapture"])
            .env(WRITER, place.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        least = lines.filter_map(|line| line.unwrap().parse::<i64>().ok()).nth(kill % 3).unwrap();
        // At once or a little later, so that it is hit at different steps.
        std::hint::black_box((0..kill * 3_000_000).fold(0_u64, |sum, each| sum ^ each as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let index = place.open();
        let mark = index.mark();
        assert!(mark >= least, "{mark} after {least}");
        for mark in mark - 19..=mark {
            let expected: &[i64] = if mark > 0 { &[mark % 20] } else { &[] };
            assert_eq!(find(&index, &format!("text{mark}")), expected);
        }
        assert_eq!(find(&index, &format!("text{}", mark - 20)), [] as [i64; 0]);
    }
    assert!(least >= 8);
}

#[test]
fn every_hit_has_its_cosine_from_the_index_as_from_a_tail() {
    let texts =
        ["The cat sleeps on the sofa.", "A kitten naps.", "Interest rates rise.", "sofa", "\u{1f600}"];
    let docs: Vec<Doc> = texts.iter().zip(1..).map(|(text, memory)| doc(memory, text)).collect();
    let filter = Filter::default();
    let query = |lexical, candidates| Query {
        text: "a sleeping cat on a sofa",
        filter: &filter,
        candidates,
        words: 64,
        lexical,
        semantic: true,
    };
    let place = Place::new();
    let mut index = place.open();
    let mut tail = Tail::default();
    for doc in &docs {
        tail.put(&index, doc.clone());
    }
    let sorted = |mut hits: Hits| {
        hits.hits.sort_by_key(|hit| hit.memory);
        hits.hits
    };
    let late = sorted(index.search(&tail, &query(true, 10)).unwrap());
    put(&mut index, 1, docs);
    let found = sorted(index.search(&Tail::default(), &query(true, 10)).unwrap());
    assert_eq!(late.len(), 5);
    for (late, found) in late.iter().zip(&found) {
        assert_eq!(late.memory, found.memory);
        assert!((late.semantic - found.semantic).abs() < 0.01, "{late:?} {found:?}");
        assert!((late.lexical - found.lexical).abs() < 1e-4, "{late:?} {found:?}");
    }
    let cosine = |memory: usize| found[memory - 1].semantic;
    assert!(cosine(1) > cosine(2) && cosine(2) > cosine(3) && cosine(5).abs() < 1e-6);
    // The best by words and the best by meaning: one hit each, or one that is both, with both scores.
    let best = index.search(&Tail::default(), &query(true, 1)).unwrap().hits;
    assert!(
        best.iter().all(|hit| (hit.semantic - cosine(usize::try_from(hit.memory).unwrap())).abs() < 1e-6)
    );
    let meaning = index.search(&Tail::default(), &query(false, 2)).unwrap();
    assert!(
        meaning.ideal.abs() < f32::EPSILON && meaning.hits.iter().all(|hit| hit.lexical.abs() < f32::EPSILON)
    );
    assert_eq!(sorted(meaning).iter().map(|hit| hit.memory).collect::<Vec<_>>(), [1, 4]);
}
