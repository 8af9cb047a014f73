//! A directory as a view shows it: two levels, or a map of the first where two are too long.

use std::fmt::Write as _;

use crate::path::escape_name;
use crate::store::{Entry, Listing};
use crate::text::{self, counted, human_size};

use super::words;

/// One line of a listing.
#[derive(Clone, Copy)]
struct Item<'a> {
    /// The directory of level 1 that holds it, for an item of level 2.
    parent: Option<&'a Entry>,
    entry: &'a Entry,
}

/// What stands on a directory's line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// Its children follow.
    Tree,
    /// How many there are.
    Map,
}

/// Shows a directory; `path` is as the call gave it, `limit` the characters of the items' lines (0: no limit).
pub(super) fn show(
    path: &str,
    listing: &Listing,
    range: Option<&[i64]>,
    limit: usize,
) -> Result<String, String> {
    let dir = path.trim_end_matches('/');
    let limit = if limit == 0 { usize::MAX } else { limit };
    let all = items(&listing.entries);
    let mut out = format!(
        "Here're the files and directories up to 2 levels deep in {path}, excluding hidden items and node_modules:\n{}\t{dir}",
        human_size(listing.size)
    );

    if let Some(range) = range {
        let picked = text::pick(range, all.len());
        let (first, last) = picked.ok_or_else(|| words::bad_range(range, "directory", all.len(), "item"))?;
        let picked = &all[first - 1..last];
        let shown = push_items(&mut out, dir, picked, Style::Tree, limit);
        push_rest(&mut out, picked.len() - shown);
        return Ok(out);
    }

    let head = out.len();
    if push_items(&mut out, dir, &all, Style::Tree, limit) == all.len() {
        return Ok(out);
    }
    out.truncate(head);
    let top: Vec<_> = all.iter().filter(|item| item.parent.is_none()).copied().collect();
    let shown = push_items(&mut out, dir, &top, Style::Map, limit);
    if shown < top.len() {
        push_rest(&mut out, all.len() - shown);
    } else {
        let hidden = all.len() - top.len();
        let _ = write!(
            out,
            "\n... {hidden} items in subdirectories are not shown. View a subdirectory, or use view_range to page through all"
        );
    }
    Ok(out)
}

/// Both levels, a directory's children after it.
fn items(entries: &[Entry]) -> Vec<Item<'_>> {
    let below = |parent| move |entry| Item { parent: Some(parent), entry };
    entries
        .iter()
        .flat_map(|entry| {
            std::iter::once(Item { parent: None, entry }).chain(entry.children.iter().map(below(entry)))
        })
        .collect()
}

/// Appends the lines of as many items as fit, and says how many those are.
fn push_items(out: &mut String, dir: &str, items: &[Item<'_>], style: Style, limit: usize) -> usize {
    let mut used = 0;
    for (shown, item) in items.iter().enumerate() {
        let start = out.len();
        out.push('\n');
        push_item(out, dir, *item, style);
        // The newline before the first line is the head's.
        used += out[start..].chars().count() - usize::from(shown == 0);
        if used > limit {
            out.truncate(start);
            return shown;
        }
    }
    items.len()
}

fn push_item(out: &mut String, dir: &str, item: Item<'_>, style: Style) {
    let Item { parent, entry } = item;
    let _ = write!(out, "{}\t{dir}/", human_size(entry.size)); // writing to a String cannot fail
    if let Some(parent) = parent {
        out.extend([&*escape_name(&parent.name), "/"]);
    }
    out.push_str(&escape_name(&entry.name));
    if entry.is_dir {
        out.push('/');
        if style == Style::Map {
            let _ = write!(out, "\t({})", counted(entry.children.len(), "item"));
        }
    }
}

fn push_rest(out: &mut String, rest: usize) {
    if rest > 0 {
        let _ = write!(out, "\n... and {rest} more. Use view_range to see them");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, size: u64) -> Entry {
        Entry { name: name.to_owned(), is_dir: false, size, modified: None, children: vec![] }
    }

    fn dir(name: &str, children: Vec<Entry>) -> Entry {
        let size = children.iter().map(|entry| entry.size).sum();
        Entry { name: name.to_owned(), is_dir: true, size, modified: None, children }
    }

    /// What stands below the head.
    fn body(path: &str, range: Option<&[i64]>, limit: usize) -> Result<String, String> {
        let entries = vec![
            file("a\n", 1),
            dir("b", vec![file("c", 1), dir("d", vec![])]),
            dir("e", vec![file("f", 9)]),
            dir("g", vec![]),
        ];
        let shown = show(path, &Listing { size: 11, entries }, range, limit)?;
        let head = format!(
            "Here're the files and directories up to 2 levels deep in {path}, excluding hidden items and node_modules:\n"
        );
        Ok(shown.strip_prefix(&head).expect("the head is there").to_owned())
    }

    #[test]
    fn a_tree_a_map_and_pages() {
        let tree =
            "11B\t/m\n1B\t/m/a\\n\n1B\t/m/b/\n1B\t/m/b/c\n0B\t/m/b/d/\n9B\t/m/e/\n9B\t/m/e/f\n0B\t/m/g/";
        let items = tree.split_once('\n').unwrap().1;
        let exact = items.len();
        let map = "11B\t/m\n1B\t/m/a\\n\n1B\t/m/b/\t(2 items)\n9B\t/m/e/\t(1 item)\n0B\t/m/g/\t(0 items)\n\
            ... 3 items in subdirectories are not shown. View a subdirectory, or use view_range to page through all";
        for (path, range, limit, shown) in [
            ("/m", None, 0, tree),
            ("/m/", None, exact, tree),
            ("/m//", None, exact - 1, map),
            ("/m", None, 20, "11B\t/m\n1B\t/m/a\\n\n... and 6 more. Use view_range to see them"),
            ("/m", None, 1, "11B\t/m\n... and 7 more. Use view_range to see them"),
            ("/m", Some(&[2, 3][..]), 0, "11B\t/m\n1B\t/m/b/\n1B\t/m/b/c"),
            ("/m", Some(&[6, -1]), 0, "11B\t/m\n9B\t/m/e/f\n0B\t/m/g/"),
            ("/m", Some(&[2, 6]), 12, "11B\t/m\n1B\t/m/b/\n... and 4 more. Use view_range to see them"),
        ] {
            assert_eq!(body(path, range, limit).as_deref(), Ok(shown), "{path} {range:?} {limit}");
        }
        assert_eq!(body("/m", Some(&[8, 9]), 0), Err(words::bad_range(&[8, 9], "directory", 7, "item")));
    }
}
