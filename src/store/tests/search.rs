//! A check finds secrets wherever a store keeps something, and each is gone once what it says is done.

use std::os::unix::ffi::OsStrExt as _;

use super::*;
use crate::guard::{Action, Mode};
use crate::id::VersionId;
use crate::journal::{Content, Record, Step, Stored};
use crate::store::{Actor, Check, Erasure, Finding, Settings};
use crate::version::Log;

const TOKEN: &str = concat!("ghp", "_Zq8kLm2Nx7Rt4Vw9Yb3Cd6Fg1Hj5KpQsUaEi");

/// A store without a gate, as one of an older memdir was.
fn ungated(world: &World) -> Store {
    let mut settings = Settings::default();
    settings.guard.mode = Mode::All(Action::Off);
    Store::builder(world.base()).settings(settings).open().unwrap()
}

/// What a check finds for secrets.
fn search(store: &Store) -> Vec<Finding> {
    let check = Check { secrets: true, ..Check::default() };
    let report = store.check(&check, &mut |_| ()).unwrap();
    assert!(!format!("{report:?}").contains(TOKEN), "{report:?}");
    let is_about = |found: &Finding| matches!(found.kind, "secret" | "unsearched");
    report.findings.into_iter().filter(is_about).collect()
}

fn told(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|found| format!("{}: {}; {}", found.place, found.problem, found.remedy)).collect()
}

/// The ids of versions that are named in what is to be done.
fn named(findings: &[Finding]) -> Vec<VersionId> {
    let words = findings.iter().flat_map(|found| found.remedy.split(['`', ' ']));
    words.filter_map(|word| word.parse().ok()).collect()
}

/// Whether the token is in any file of the store, or any name.
fn is_anywhere(world: &World) -> bool {
    walkdir::WalkDir::new(world.base()).into_iter().any(|entry| {
        let entry = entry.unwrap();
        let is_in = |bytes: &[u8]| memchr::memmem::find(bytes, TOKEN.as_bytes()).is_some();
        let is_file = entry.file_type().is_file();
        is_in(entry.file_name().as_bytes()) || is_file && is_in(&std::fs::read(entry.path()).unwrap())
    })
}

#[test]
fn what_has_no_history_is_searched_by_content_and_by_name() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "fine\n").unwrap();
    let text = format!("one\n{TOKEN}\n");
    world.write(".env", &text);
    world.write(".hidden/d/a.md", &text);
    world.write("node_modules/x.js", &text);
    world.write(".git/config", &text);
    world.write(".git/objects/x", &text);
    world.write(&format!(".b {TOKEN}/c.md"), "fine\n");
    world.write(&format!(".c/{TOKEN}.md"), &text);
    let name = [TOKEN.as_bytes(), b"\xff.md"].concat();
    std::fs::write(world.file("").join(std::ffi::OsStr::from_bytes(&name)), "x").unwrap();
    let edit = "line 2 looks like github-pat; it is not in the history; edit or remove the file";
    let directory = "rename or remove it; what the history has of its name is told apart";
    let masked = "[redacted: github-pat]";
    assert_eq!(
        told(&search(&store)),
        [
            format!("/memories/.b {masked}: the name looks like github-pat; {directory}"),
            format!(
                "/memories/.c/{masked}.md: the name looks like github-pat, line 2 looks like github-pat; it is not in the \
                 history; rename or remove the file"
            ),
            format!("/memories/.env: {edit}"),
            format!("/memories/.git/config: {edit}"),
            format!("/memories/.hidden/d/a.md: {edit}"),
            format!(
                "/memories/{masked}\u{fffd}.md: the name looks like github-pat; it is not in the history; rename or remove \
                 the file"
            ),
            format!("/memories/node_modules/x.js: {edit}"),
        ]
    );
    // Without being asked for it says no more of them than before, and no secret either.
    let report = store.check(&Check::default(), &mut |_| ()).unwrap();
    assert!(!format!("{report:?}").contains(TOKEN), "{report:?}");
    assert!(report.findings.iter().all(|found| found.kind != "secret"));
}

#[test]
fn copies_in_the_room_are_searched() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "fine\n").unwrap();
    let text = format!("one\n{TOKEN}\n");
    std::fs::create_dir_all(world.room("edits/01ARZ3NDEKTSV4RRFFQ69G5FAV")).unwrap();
    std::fs::write(world.room("edits/01ARZ3NDEKTSV4RRFFQ69G5FAV/a.md"), &text).unwrap();
    std::fs::write(world.room("kept/memver_01ARZ3NDEKTSV4RRFFQ69G5FAV"), &text).unwrap();
    // While the journal is open nobody sweeps it.
    std::fs::write(world.room("staging/new-7"), &text).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", world.room("edits/link")).unwrap();
    let line = "line 2 looks like github-pat";
    let take = "take from it what is to be kept and remove";
    let expected = [
        format!(
            ".memdir/edits/01ARZ3NDEKTSV4RRFFQ69G5FAV/a.md: {line}; a copy that `memdir edit` made has it still; if no \
             editor has it open, {take} `.memdir/edits/01ARZ3NDEKTSV4RRFFQ69G5FAV`: nothing else clears it"
        ),
        format!(
            ".memdir/kept/memver_01ARZ3NDEKTSV4RRFFQ69G5FAV: {line}; a change found it in its way, and no version has it; \
             {take} `.memdir/kept/memver_01ARZ3NDEKTSV4RRFFQ69G5FAV`: nothing else clears it"
        ),
        format!(
            ".memdir/staging/new-7: {line}; a change that was cut short left it behind; remove `.memdir/staging/new-7` \
             while no memdir uses the store"
        ),
    ];
    assert_eq!(told(&search(&store)), expected);
    // It is found without a journal, too.
    drop(store);
    std::fs::write(world.room("journal.db"), vec![0x5a; 50_000]).unwrap();
    assert_eq!(told(&search(&world.open())), expected);
}

#[test]
fn what_is_kept_for_a_version_is_told_once_and_goes_with_it() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "fine\n").unwrap();
    world.write("a.md", [b"\xff\n", TOKEN.as_bytes()].concat());
    put(&store, "b.md", "fine\n").unwrap();
    append(&store, "a.md", "more\n").unwrap();
    put(&store, "a.md", "gone\n").unwrap();
    let found = search(&store);
    let ids = named(&found);
    assert!(
        !ids.is_empty() && found.iter().all(|found| found.place == "/memories/a.md"),
        "{:?}",
        told(&found)
    );
    // Two files are kept for one version.
    let id = ids[ids.len() - 1];
    std::fs::write(world.room(&format!("kept/{id}-1")), TOKEN).unwrap();
    let found = search(&store);
    let place = format!(".memdir/kept/{id}-1");
    assert!(found.iter().any(|found| found.place == place && named(std::slice::from_ref(found)) == [id]));
    store.redact(&named(&found)).unwrap();
    assert_eq!(told(&search(&store)), [""; 0]);
    drop(store);
    assert!(!is_anywhere(&world));
}

#[test]
fn what_was_taken_back_is_named_and_can_be_erased_by_that() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "1").unwrap();
    look(&store, |session| {
        let bytes = format!("one\n{TOKEN}\n").into_bytes();
        let (hash, size) = (Hash::of(&bytes), bytes.len() as u64);
        let content = Content { hash, size, bytes: Stored::Here { new: bytes.into(), old: None } };
        let step = Step::Write { path: "new.md".into(), content, mode: 0o600, staged: None };
        let record = Record { by: &Actor::Outside, reason: Some(TOKEN), id: None, steps: &[step] };
        let changes = session.journal.commit(session.core.now(), &[record]).unwrap().changes;
        session.journal.withdraw(&changes).unwrap();
    });
    let found = search(&store);
    let ids = named(&found);
    assert_eq!(found.len(), 2, "{:?}", told(&found));
    assert!(found[0].problem.ends_with("the reason looks like github-pat"), "{}", found[0].problem);
    assert_eq!(found[1].place, "/memories/new.md");
    assert_eq!(
        found[1].problem,
        format!("in {}, of a change that failed and was taken back, line 2 looks like github-pat", ids[1])
    );
    assert!(matches!(store.history().unwrap().version(ids[1]), Err(Error::NoVersion { .. })));
    let redaction = store.redact(&ids[1..]).unwrap();
    assert_eq!((redaction.versions.len(), redaction.erasure), (1, Erasure::Done));
    assert_eq!(told(&search(&store)), [""; 0]);
    store.redact(&ids[1..]).unwrap();
    assert!(!is_anywhere(&world));
    drop(store);
    world.check(&[]);
}

#[test]
fn reasons_and_names_are_searched_and_redacted_with_their_versions() {
    let world = World::new();
    let store = ungated(&world);
    put(&store, "a.md", "0\n").unwrap();
    let by = store.with_actor(Actor::Agent(format!("bot {TOKEN}")));
    put(&by, "a.md", "1\n").unwrap();
    put(&store.with_reason(format!("for {TOKEN}")), "a.md", "2\n").unwrap();
    // A directory in which nothing is: a change without versions.
    std::fs::create_dir(world.file("d")).unwrap();
    rename(&store.with_reason(TOKEN), "d", "e").unwrap();
    rename(&store, "e", TOKEN).unwrap();
    rename(&store, TOKEN, "f").unwrap();
    let first = store.history().unwrap();
    let mut oldest = None;
    let each = &mut |version: crate::version::Version| {
        oldest = Some(version.id);
        Ok(std::ops::ControlFlow::Continue(()))
    };
    first.versions(&Log::default(), each).unwrap();
    drop(first);
    store.with_actor(Actor::User(TOKEN.into())).redact(&[oldest.unwrap()]).unwrap();
    rename(&store, "f", TOKEN).unwrap();
    rename(&store, TOKEN, "g").unwrap();
    // The reason of a change without versions went with that.
    let found = search(&store);
    let problems: Vec<_> = found.iter().map(|found| found.problem.rsplit(", ").next().unwrap()).collect();
    assert_eq!(
        problems,
        [
            "the reason looks like github-pat",
            "the name of who made it looks like github-pat",
            "the name of who redacted it looks like github-pat",
            "a name looks like github-pat",
        ]
    );
    let ids = named(&found);
    assert!(found[0].remedy.starts_with("edit or delete the file of memver_"), "{}", found[0].remedy);
    assert!(matches!(store.redact(&ids), Err(Error::IsHead { .. })));
    put(&store, "a.md", "3\n").unwrap();
    store.redact(&ids).unwrap();
    assert_eq!(told(&search(&store)), [""; 0]);
    let history = store.history().unwrap();
    let mut said = Vec::new();
    let each = &mut |version: crate::version::Version| {
        said.extend(version.reason);
        Ok(std::ops::ControlFlow::Continue(()))
    };
    history.versions(&Log::default(), each).unwrap();
    assert_eq!(said, ["for [redacted: github-pat]"]);
    drop((history, store, by));
    assert!(!is_anywhere(&world));
    world.check(&[]);
}

#[test]
fn what_cannot_be_searched_is_told() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "fine\n").unwrap();
    let large = std::fs::File::create(world.file(".large")).unwrap();
    large.set_len(crate::store::session::MOST_READ + 1).unwrap();
    let found = search(&store);
    assert_eq!(
        told(&found),
        [
            "/memories/.large: it was not searched for secrets: it is too large (67108865 bytes); look into it yourself"
        ]
    );
    assert!(!found[0].is_wrong);
}
