//! Telling a rename from a deletion and an addition: by the content. Pure.

use std::collections::{BTreeMap, HashMap};

use super::survey::{Added, Gone};
use crate::path::MemoryPath;
use crate::store::absorb::UNREAD;

/// Memories without a file and files without a memory, brought together where they are the same.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Paired {
    pub(super) moved: Vec<(Gone, Added)>,
    pub(super) added: Vec<Added>,
    pub(super) gone: Vec<Gone>,
}

/// What has one content.
type Group = (Vec<Gone>, Vec<Added>);

/// Pairs what has the same content: first under the same file name, then where no other has that content.
///
/// Empty files are all alike, and so never paired.
pub(super) fn pair(gone: Vec<Gone>, added: Vec<Added>) -> Paired {
    let mut groups: BTreeMap<([u8; 32], u64), Group> = BTreeMap::new();
    let mut paired = Paired { moved: Vec::new(), added: Vec::new(), gone: Vec::new() };
    for gone in gone {
        if gone.size == 0 || gone.hash == UNREAD {
            paired.gone.push(gone);
        } else {
            groups.entry((gone.hash.0, gone.size)).or_default().0.push(gone);
        }
    }
    for added in added {
        match groups.get_mut(&(added.hash.0, added.size)) {
            Some((_, group)) => group.push(added),
            None => paired.added.push(added),
        }
    }
    for (gone, added) in groups.into_values() {
        pair_group(gone, added, &mut paired);
    }
    paired.moved.sort_by(|a, b| a.0.path.cmp(&b.0.path));
    paired.added.sort_by(|a, b| a.path.cmp(&b.path));
    paired.gone.sort_by(|a, b| a.path.cmp(&b.path));
    paired
}

/// Pairs what all has one content.
fn pair_group(mut gone: Vec<Gone>, mut added: Vec<Added>, paired: &mut Paired) {
    gone.sort_by(|a, b| a.path.cmp(&b.path));
    added.sort_by(|a, b| b.path.cmp(&a.path));
    // By name, the first path last.
    let mut by_name: HashMap<String, Vec<Added>> = HashMap::new();
    for added in added {
        by_name.entry(name(&added.path)).or_default().push(added);
    }
    let mut left = Vec::new();
    for gone in gone {
        match by_name.get_mut(&name(&gone.path)).and_then(Vec::pop) {
            Some(added) => paired.moved.push((gone, added)),
            None => left.push(gone),
        }
    }
    let mut strange: Vec<Added> = by_name.into_values().flatten().collect();
    if left.len() == 1 && strange.len() == 1 {
        paired.moved.extend(left.pop().zip(strange.pop()));
    }
    paired.gone.append(&mut left);
    paired.added.append(&mut strange);
}

fn name(path: &MemoryPath) -> String {
    path.split_last().map(|(_, name)| name.to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Hash;

    /// What becomes of files, each written `path=content`.
    fn paired(gone: &[&str], added: &[&str]) -> String {
        let parts = |text: &str| {
            let (path, content) = text.split_once('=').unwrap();
            (MemoryPath::from_normal(path), Hash::of(content.as_bytes()), content.len() as u64)
        };
        let gone = gone.iter().enumerate().map(|(n, text)| {
            let (path, hash, size) = parts(text);
            Gone { memory: i64::try_from(n).unwrap(), path, hash, size }
        });
        let added = added.iter().map(|text| {
            let (path, hash, size) = parts(text);
            Added { path, hash, size }
        });
        let paired = pair(gone.collect(), added.collect());
        let moved = paired.moved.iter().map(|(a, b)| format!("{} > {}", a.path.as_str(), b.path.as_str()));
        let gone = paired.gone.iter().map(|a| format!("- {}", a.path.as_str()));
        let added = paired.added.iter().map(|a| format!("+ {}", a.path.as_str()));
        moved.chain(gone).chain(added).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn a_rename_is_told_by_the_content() {
        let cases: &[(&[&str], &[&str], &str)] = &[
            (&["a=1"], &["b=1"], "a > b"),
            (&["a=1"], &["b=2"], "- a, + b"),
            (&["a="], &["b="], "- a, + b"),
            (&["a="], &["d/a="], "- a, + d/a"),
            (&["d/a=1", "d/b=2"], &["e/a=1", "e/b=2"], "d/a > e/a, d/b > e/b"),
            (&["d/a=1", "d/b=1"], &["e/b=1", "e/a=1"], "d/a > e/a, d/b > e/b"),
            (&["d/a=1", "d/b=1"], &["e/c=1", "e/d=1"], "- d/a, - d/b, + e/c, + e/d"),
            (&["d/a=1", "d/b=1"], &["e/a=1", "e/d=1"], "d/a > e/a, d/b > e/d"),
            (&["a=1"], &["b=1", "c=1"], "- a, + b, + c"),
            (&["a=1"], &["b=1", "d/a=1"], "a > d/a, + b"),
            (&["a=1", "b=1"], &["c=1"], "- a, - b, + c"),
            (&["x/n=1", "y/n=1"], &["u/n=1", "v/n=1"], "x/n > u/n, y/n > v/n"),
            (&[], &["b=1"], "+ b"),
            (&["a=1"], &[], "- a"),
        ];
        for (gone, added, right) in cases {
            assert_eq!(paired(gone, added), *right, "{gone:?} {added:?}");
        }
    }
}
