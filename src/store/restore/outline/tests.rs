//! Rows of what memories are to become, and what comes of it.

use super::super::wish::State;
use super::*;
use crate::hash::Hash;
use crate::id::VersionId;

/// A world of files, each a memory but those whose names begin with a dot.
#[derive(Default)]
struct Table {
    files: BTreeSet<MemoryPath>,
    links: BTreeSet<MemoryPath>,
}

impl Ground for Table {
    fn look(&mut self, path: &MemoryPath) -> Result<Look> {
        let is_dir = |dir: &MemoryPath| self.files.iter().chain(&self.links).any(|file| file.is_below(dir));
        let above = path.ancestors().find(|above| self.files.contains(above));
        Ok(match above {
            Some(file) => Look::BelowFile(file),
            None if path.ancestors().any(|above| self.links.contains(&above)) => Look::BelowLink,
            None if self.links.contains(path) => Look::Link,
            None if self.files.contains(path) => Look::File { size: 1 },
            None if is_dir(path) => Look::Directory,
            None => Look::Missing,
        })
    }

    fn below(&mut self, dir: &MemoryPath) -> Result<Vec<MemoryPath>> {
        Ok(self.files.iter().filter(|file| file.is_below(dir) && !file.is_hidden()).cloned().collect())
    }

    fn entries(&mut self, dir: &MemoryPath) -> Result<Vec<(MemoryPath, bool)>> {
        let depth = dir.depth() + 1;
        let below = self.files.iter().chain(&self.links).filter(|path| path.is_below(dir));
        let entries: BTreeSet<_> = below.map(|path| (path.ancestor(depth), path.depth() > depth)).collect();
        Ok(entries.into_iter().collect())
    }
}

fn path(text: &str) -> MemoryPath {
    MemoryPath::from_normal(text)
}

/// `a.md 1`: at that path, with content of that number.
fn state(text: &str) -> Option<State> {
    let (at, content) = text.split_once(' ')?;
    let n = content.parse().unwrap();
    let hash = Some(Hash::of(content.as_bytes()));
    let id = VersionId(crate::id::new_ulid(0));
    Some(State { path: path(at), id, n, hash, size: 1, mode: Some(0o600), is_stored: true })
}

/// Outlines what becomes of memories, each given as it is now and as it was then, where `others` are in the world, too.
fn draw(wishes: &[(&str, &str)], others: &str, may: Others) -> Result<Outline> {
    let mut table = Table::default();
    for other in others.split_whitespace() {
        match other.strip_prefix('@') {
            Some(link) => table.links.insert(path(link)),
            None => table.files.insert(path(other)),
        };
    }
    let wish = |(i, (now, then)): (usize, &(&str, &str))| Wish {
        memory: Some(i64::try_from(i).unwrap()),
        now: state(now),
        then: state(then),
        undone: 1,
        ..Wish::default()
    };
    let wishes: Vec<Wish> = wishes.iter().enumerate().map(wish).collect();
    table.files.extend(wishes.iter().filter_map(|wish| Some(wish.now.as_ref()?.path.clone())));
    outline(&wishes, may, &mut table)
}

/// What is done, edit by edit, units apart; `first:` what comes before all.
fn told(wishes: &[(&str, &str)], outline: &Outline) -> String {
    let unit = |unit: &Unit| {
        let removes = unit.removes.iter().map(|path| format!("-{}", path.as_str()));
        let renames = unit.renames.iter().map(|(from, to)| format!("{}>{}", from.as_str(), to.as_str()));
        let writes = unit.writes.iter().map(|write| {
            let (to, _) = wishes[write.wish].1.split_once(' ').unwrap();
            let replaces = if write.replaces { "!" } else { "" };
            let revives = if write.revives { "+" } else { "" };
            format!("{replaces}{revives}{to}={}", write.wish)
        });
        removes.chain(renames).chain(writes).collect::<Vec<_>>().join(" ")
    };
    let all = |units: &[Unit]| units.iter().map(unit).collect::<Vec<_>>().join(" | ");
    if outline.first.is_empty() { all(&outline.units) } else { format!("first: {}", all(&outline.first)) }
}

#[test]
fn what_comes_of_it() {
    type Row = (&'static [(&'static str, &'static str)], &'static str, &'static str);
    let rows: &[Row] = &[
        // One memory.
        (&[("a 1", "a 1")], "", ""),
        (&[("", "")], "", ""),
        (&[("a 2", "a 1")], "", "a=0"),
        (&[("", "a 1")], "", "+a=0"),
        (&[("a 1", "")], "", "-a"),
        (&[("b 1", "a 1")], "", "b>a"),
        (&[("b 2", "a 1")], "", "-b a=0"),
        // Directories that hold nothing else go as a whole.
        (&[("x/y/a 1", "")], "", "-x"),
        (&[("x/y/a 1", "")], "x/b", "-x/y"),
        (&[("x/y/a 1", "")], "x/y/.b", "-x/y/a"),
        (&[("x/y/a 1", "")], "@x/y/b", "-x/y/a"),
        (&[("x/y/a 1", ""), ("x/b 1", "")], "c", "-x"),
        (&[("x/y/a 1", ""), ("", "x/b 1")], "", "+x/b=1 | -x/y"),
        (&[("x/y/a 1", ""), ("x/b 2", "x/b 1")], "", "x/b=1 | -x/y"),
        // Directories that go elsewhere as a whole.
        (&[("e/a 1", "d/a 1"), ("e/b/c 1", "d/b/c 1")], "", "e>d"),
        (&[("e/a 1", "d/a 1"), ("e/b/c 1", "d/b/c 1")], "e/.x", "e>d"),
        (&[("x/y/e/a 1", "d/a 1")], "", "x/y/e>d"),
        (&[("f/e/a 1", "f/d/a 1"), ("f/e/b 1", "f/d/b 1")], "f/c", "f/e>f/d"),
        (&[("e/a 1", "d/a 1")], "e/b", "e/a>d/a"),
        (&[("e/a 1", "d/a 1")], "d/b", "e/a>d/a"),
        (&[("e/a 1", "d/a 1"), ("e/b 1", "e/b 2")], "", "e/a>d/a | e/b=1"),
        (&[("e/a 1", "d/a 1"), ("e/b 1", "c 1")], "", "e/a>d/a | e/b>c"),
        (&[("e/a 2", "d/a 1"), ("e/b 1", "d/b 1")], "", "first: e>d"),
        (&[("e/a 1", "d/a 1"), ("e/b 1", "")], "", "first: e>d"),
        (&[("e/a 1", "d/a 1"), ("", "d/b 1")], "", "first: e>d"),
        (&[("e/a 1", "d/a 1"), ("", "e/b 1")], "", "first: e>d"),
        // Others' places.
        (&[("a 1", "b 1"), ("b 2", "a 2")], "", "b=0 a=1"),
        (&[("a 1", "b 1"), ("b 2", "c 2"), ("x 2", "x 1")], "", "-a b=0 c=1 | x=2"),
        (&[("a 1", "b 1"), ("b 2", "")], "", "-a !b=0"),
        (&[("", "b 1"), ("b 2", "")], "", "!+b=0"),
        (&[("d/a 1", "d 1")], "", "-d d=0"),
        (&[("d/a 1", "d 1"), ("d/b/c 1", ""), ("d/e 1", "f 1")], "", "-d d=0 f=2"),
        (&[("a 1", "a/b 1")], "", "-a a/b=0"),
        (&[("a 1", ""), ("", "a/b 1"), ("c 1", "a/x/c 1")], "", "-a -c +a/b=1 a/x/c=2"),
        (&[("a 1", "d 1"), ("d/b 1", "a/b 1")], "", "-a -d d=0 a/b=1"),
    ];
    for (wishes, others, right) in rows {
        let outline = draw(wishes, others, Others::Keep).unwrap_or_else(|e| panic!("{wishes:?}: {e}"));
        assert_eq!(told(wishes, &outline), *right, "{wishes:?}, {others}");
    }
}

#[test]
fn what_is_in_the_way() {
    type Row = (&'static [(&'static str, &'static str)], &'static str, &'static str, &'static str);
    let rows: &[Row] = &[
        (&[("", "a 1")], "a", "a", "!+a=0"),
        (&[("b 1", "a 1")], "a", "a", "-b !a=0"),
        (&[("b 1", "a 1")], "@a", "a", "-a -b a=0"),
        (&[("", "a 1")], "a/b a/c/d", "a", "-a +a=0"),
        (&[("a/b 1", "a 1")], "a/.c", "a", "-a a=0"),
        (&[("", "a/b/c 1"), ("", "a/d 1")], "a", "a", "-a +a/b/c=0 +a/d=1"),
        (&[("", "a/b 1")], "@a", "", "@a/b"),
        (&[("b 1", "a 1"), ("", "a 2")], "", "a", "taken a"),
        (&[("", "a 1"), ("c/x 1", "a/b 1")], "a/d", "a", "taken a"),
    ];
    for (wishes, others, taken, right) in rows {
        match draw(wishes, others, Others::Keep) {
            Err(Error::Taken { path }) => assert_eq!(path.as_str(), *taken, "{wishes:?}, {others}"),
            Err(Error::Link { path }) => assert_eq!(format!("@{}", path.as_str()), *right),
            other => panic!("{wishes:?}, {others}: {other:?}"),
        }
        let overwritten = match draw(wishes, others, Others::Overwrite) {
            Ok(outline) => told(wishes, &outline),
            Err(Error::Taken { path }) => format!("taken {}", path.as_str()),
            Err(Error::Link { path }) => format!("@{}", path.as_str()),
            Err(error) => panic!("{wishes:?}, {others}: {error}"),
        };
        assert_eq!(overwritten, *right, "{wishes:?}, {others}");
    }
}

#[test]
fn those_who_are_replaced_are_told_of() {
    let outline = draw(&[("", "a 1"), ("c 1", "b 1")], "a b/x", Others::Overwrite).unwrap();
    let told: Vec<_> = outline
        .memories
        .iter()
        .map(|m| [&m.from, &m.to].map(|path| path.as_ref().map_or("", |path| path.as_str())))
        .collect();
    assert_eq!(told, [["", "a"], ["a", ""], ["c", "b"], ["b/x", ""]]);
}
