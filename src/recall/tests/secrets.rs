//! Entries that hold a secret, by what the gate does about it.

use super::*;

const SECRET: &str = "Kq7Xz2Lm9Pw4Rt6Yv8Bn1Cd3";

fn text(more: &str) -> NewEntry {
    entry(&format!("The printer {more}takes this and no other one, password: {SECRET}"))
}

/// Whether the secret is in any byte below the store's directory.
fn is_kept(bench: &Bench) -> bool {
    let file = |found: walkdir::Result<walkdir::DirEntry>| std::fs::read(found.unwrap().path()).ok();
    let holds = |bytes: Vec<u8>| bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
    walkdir::WalkDir::new(bench.dir.path()).into_iter().filter_map(file).any(holds)
}

#[test]
fn a_text_with_a_secret_is_the_same_when_it_is_stored_again() {
    for (mode, is_redacted) in [("redact", true), ("warn", false)] {
        let bench = Bench::with(&format!("[guard]\nmode = \"{mode}\"\n"));
        let first = bench.recall.store(text("")).unwrap();
        assert_eq!((first.duplicate_of, first.warned[0].warning.is_redacted), (None, is_redacted), "{mode}");
        let again = bench.recall.store(text(" ")).unwrap();
        assert_eq!(again.duplicate_of, Some(first.memory_id), "{mode}");
        let near = bench.recall.store(text("really ")).unwrap();
        assert_eq!(near.duplicate_of, Some(first.memory_id), "{mode}");
        assert_eq!(near.warned.len(), usize::from(is_redacted), "{mode}: it is written anew");
        let other = bench.recall.store(text("in room 3 ")).unwrap();
        assert_eq!(other.similar[0].id, first.memory_id, "{mode}");
        bench.found("what does the printer take");
        let answers = format!("{first:?} {again:?} {near:?} {other:?}");
        assert_eq!((is_kept(&bench), answers.contains(SECRET)), (!is_redacted, !is_redacted), "{mode}");
        assert_eq!(live(&bench.recall), 2, "{mode}");
    }
}

#[test]
fn what_is_refused_is_refused_again() {
    let bench = Bench::with("[guard]\nmode = \"block\"\n");
    for more in ["", " ", "really "] {
        assert!(matches!(bench.recall.store(text(more)), Err(Error::Secret { .. })));
    }
    assert_eq!((is_kept(&bench), live(&bench.recall)), (false, 0));
}
