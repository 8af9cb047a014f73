//! What a client wants to be told of, and what it is to be told.

use std::collections::{BTreeMap, BTreeSet};

use rmcp::model::SubscriptionFilter;

use super::{MOST, uri};
use crate::path::MemoryPath;
use crate::store::{Changed, Happened};

/// By which address a file below a directory is told to who subscribed to the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// Its own.
    Own,
    /// The directory's: a stream tells no other than those that it accepted.
    Subscribed,
}

/// What somebody wants to be told of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Wants {
    pub(super) list: bool,
    /// By their addresses, as they were given.
    pub(super) resources: BTreeMap<String, MemoryPath>,
}

/// What somebody is to be told.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) list: bool,
    pub(super) resources: BTreeSet<String>,
}

impl Wants {
    pub(super) fn of(filter: &SubscriptionFilter) -> Self {
        let uris = filter.resource_subscriptions.iter().flatten();
        Self {
            list: filter.resources_list_changed == Some(true),
            resources: uris.filter_map(|uri| Some((uri.clone(), uri::parse(uri).ok()?))).collect(),
        }
    }

    /// The filter of a stream that tells of all this.
    pub(super) fn filter(&self) -> SubscriptionFilter {
        let mut filter = SubscriptionFilter::new();
        filter.resources_list_changed = self.list.then_some(true);
        filter.resource_subscriptions = Some(self.resources.keys().cloned().collect());
        filter
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.list && self.resources.is_empty()
    }

    pub(super) fn count(&self) -> usize {
        1 + self.resources.len()
    }
}

impl Due {
    pub(super) fn is_empty(&self) -> bool {
        !self.list && self.resources.is_empty()
    }

    /// Keeps what is wanted still.
    pub(super) fn keep(&mut self, wants: &Wants) {
        let is_below_one = |path: &MemoryPath| wants.resources.values().any(|wanted| path.is_below(wanted));
        self.resources.retain(|uri| {
            wants.resources.contains_key(uri) || uri::parse(uri).is_ok_and(|path| is_below_one(&path))
        });
    }

    /// Adds what was changed of what somebody wants.
    pub(super) fn add(&mut self, wants: &Wants, names: Names, changed: &[Changed]) {
        self.list |= wants.list && is_list_changed(changed);
        for path in changed.iter().flat_map(places) {
            for (uri, wanted) in &wants.resources {
                if path == wanted {
                    self.resources.insert(uri.clone());
                } else if path.is_below(wanted) && !path.is_passed_over() {
                    // Who does not read is told of the directory in the end.
                    let is_own = names == Names::Own && self.resources.len() < MOST;
                    self.resources.insert(if is_own { uri::of(path) } else { uri.clone() });
                }
            }
        }
    }
}

/// Where something was changed: of a move both ends.
fn places(changed: &Changed) -> impl Iterator<Item = &MemoryPath> {
    let from = match &changed.what {
        Happened::Moved { from } => Some(from),
        _ => None,
    };
    from.into_iter().chain([&changed.path])
}

/// Whether other files are there than before.
fn is_list_changed(changed: &[Changed]) -> bool {
    let (mut gone, mut new) = (BTreeSet::new(), BTreeSet::new());
    for Changed { path, what, .. } in changed {
        match what {
            Happened::Made => drop(new.insert(path)),
            Happened::Removed => drop(gone.insert(path)),
            Happened::Moved { from } => {
                new.insert(path);
                gone.insert(from);
            }
            _ => {}
        }
    }
    // One that was replaced is still there.
    gone.symmetric_difference(&new).any(|path| !path.is_passed_over())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> MemoryPath {
        MemoryPath::from_normal(text)
    }

    /// `+a` made, `-a` removed, `a>b` moved, `a` edited.
    fn changed(words: &[&str]) -> Vec<Changed> {
        let one = |at: &str, what| Changed { path: path(at), what };
        let read = |word: &&str| match (word.split_once('>'), word.strip_prefix('+'), word.strip_prefix('-'))
        {
            (Some((from, to)), ..) => one(to, Happened::Moved { from: path(from) }),
            (_, Some(made), _) => one(made, Happened::Made),
            (.., Some(gone)) => one(gone, Happened::Removed),
            _ => one(word, Happened::Edited),
        };
        words.iter().map(read).collect()
    }

    fn wants(list: bool, paths: &[&str]) -> Wants {
        let resources = paths.iter().map(|&at| (format!("uri of {at}"), path(at))).collect();
        Wants { list, resources }
    }

    type Case<'a> = (&'a [&'a str], &'a [&'a str], &'a [&'a str], bool);

    #[test]
    fn everybody_is_told_what_they_want() {
        let here = "memory:///memories/";
        let cases: &[Case] = &[
            // What is wanted, what happened, what is told by its own address, and whether the list changed.
            (&["a"], &["a"], &["=a"], false),
            (&["a"], &["b", "a.md", "ab/c"], &[], false),
            (&["a"], &["+a"], &["=a"], true),
            (&["a"], &["-a"], &["=a"], true),
            (&["a", "b"], &["a>b"], &["=a", "=b"], true),
            (&["a"], &["-a", "+a"], &["=a"], false),
            (&[], &["a>b", "-b", "+a"], &[], false),
            (&["d"], &["d/x", "d/y/z", "e"], &["d/x", "d/y/z"], false),
            (&["d", "d/x"], &["d/x"], &["=d/x", "d/x"], false),
            (&[""], &["d/é"], &["d/%C3%A9"], false),
            (&["d"], &["d/x>e/x"], &["d/x"], true),
            // What is hidden is in no list, and told to who asks for it.
            (&[""], &["+.h/x", "-node_modules/y"], &[], false),
            (&[".h/x"], &["+.h/x"], &["=.h/x"], false),
        ];
        for &(wanted, happened, told, list) in cases {
            let uri = |word: &&str| match word.strip_prefix('=') {
                Some(subscribed) => format!("uri of {subscribed}"),
                None => format!("{here}{word}"),
            };
            let mut due = Due::default();
            due.add(&wants(true, wanted), Names::Own, &changed(happened));
            assert_eq!(due, Due { list, resources: told.iter().map(uri).collect() }, "{happened:?}");
            let mut due = Due::default();
            due.add(&wants(false, wanted), Names::Subscribed, &changed(happened));
            assert!(!due.list);
            let subscribed = |uri: &String| wanted.iter().any(|at| *uri == format!("uri of {at}"));
            assert!(due.resources.iter().all(subscribed), "{due:?}");
            assert_eq!(due.resources.is_empty(), told.is_empty());
        }
    }
}
