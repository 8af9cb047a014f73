//! A check reads front matter.

use super::*;
use crate::store::Check;

#[test]
fn a_check_tells_front_matter_that_cannot_be_read_and_ids_that_are_not_the_memorys() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let file = |name: &str| MemoryPath::from_normal(name);
    let write = |name: &str, text: &str| {
        let (path, text) = (file(name), text.to_owned());
        store.change(move |_| Ok::<_, Error>((vec![Edit::write(&path, text.as_str())], ()))).unwrap();
        store.history().unwrap().head(&file(name)).unwrap().unwrap().memory_id
    };
    let first = write("decision_log/a.md", "---\nimportance: 3\nkey: db\n---\nPostgreSQL.\n");
    write("decision_log/b.md", &format!("---\nid: {first}\nkey: db\n---\nSQLite.\n"));
    write("decision_log/c.md", "---\nimportance: [3\n---\nbroken\n");
    write("notes/d.md", "---\nimportance: high\n---\nfaulty\n");
    write("notes/e.md", "---\nid: forged\n---\nforged\n");
    write("notes/f.md", "no front matter\n---\n");
    write("notes/g.txt", "---\nid: [\n---\nno Markdown\n");
    let report = store.check(&Check::default(), &mut |_| ()).unwrap();
    let found: Vec<String> = report
        .findings
        .iter()
        .filter(|found| found.kind == "entry")
        .map(|found| format!("{} {}", found.place, found.problem))
        .collect();
    assert!(report.is_sound());
    assert_eq!(found.len(), 5, "{found:#?}");
    assert!(found[0].starts_with("/memories/decision_log/b.md the `id` in its front matter is that of /memories/decision_log/a.md; the memory is mem_"));
    assert_eq!(found[1], "/memories/decision_log/b.md its `key` is that of /memories/decision_log/a.md, too");
    assert!(found[2].starts_with("/memories/decision_log/c.md its front matter does not parse (line "));
    assert!(found[3].starts_with("/memories/notes/d.md line 2: "), "{}", found[3]);
    assert!(found[4].starts_with("/memories/notes/e.md the `id` in its front matter is no memory's"));
}
