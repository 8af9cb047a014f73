//! Results that are late, missing, or nobody's.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::super::message::Role;
use super::super::profile::Profile;
use super::super::rules::{self, Fault, Place, Violation, violations};
use super::draft::Draft;
use super::{Deed, Mending};

const LOST_CALL: &str = r#"{"type":"text","text":"[a result whose call is not recorded was left out]"}"#;
const LOST_RESULT: &str = "[result not recorded]";

/// Where the results of a message's calls belong.
#[derive(Debug, Clone, Copy)]
enum Next {
    /// Into this message of the user's.
    In(usize),
    /// Into a new one, in front of this.
    Before(usize),
}

impl Mending {
    /// For each message, where its turn is followed.
    fn nexts(&self) -> Vec<Next> {
        let mut nexts = vec![Next::Before(self.drafts.len()); self.drafts.len()];
        let mut next = Next::Before(self.drafts.len());
        for (i, draft) in self.drafts.iter().enumerate().rev() {
            nexts[i] = next;
            if !rules::is_directive(&draft.message) {
                match draft.message.role() {
                    Role::User => next = Next::In(i),
                    Role::System => next = Next::Before(i),
                    Role::Assistant => {}
                }
            }
        }
        nexts
    }

    /// For each message of the user's, the first one of its turn.
    fn starts(&self) -> Vec<usize> {
        let mut start = None;
        let of = |(i, draft): (usize, &Draft)| {
            if draft.message.role() == Role::User {
                return *start.get_or_insert(i);
            }
            if !rules::is_directive(&draft.message) {
                start = None;
            }
            i
        };
        self.drafts.iter().enumerate().map(of).collect()
    }

    /// Moves results that come after other blocks to the front of their turn.
    pub(super) fn move_results(&mut self, found: &[&Violation]) {
        let mut late: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for about in found {
            if let Place::Block(i, j) = about.place {
                self.note(about, Deed::Moved);
                late.entry(i).or_default().push(j);
            }
        }
        let starts = self.starts();
        let mut moved: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (i, blocks) in late {
            if starts[i] == i {
                self.drafts[i].results_first();
                continue;
            }
            let results = moved.entry(starts[i]).or_default();
            results.extend(blocks.iter().map(|&j| self.drafts[i].item(j)));
            self.drafts[i].remove(&blocks.into_iter().collect());
        }
        for (start, results) in moved {
            self.drafts[start].add_results(&results);
        }
    }

    /// Gives results to calls: the one that comes later, or a placeholder.
    pub(super) fn answer(&mut self, found: &[&Violation]) {
        let mut later = self.unasked();
        let nexts = self.nexts();
        let mut gone: BTreeMap<usize, HashSet<usize>> = BTreeMap::new();
        let (mut known, mut new) = (BTreeMap::new(), BTreeMap::new());
        for about in found {
            let Place::Message(i) = about.place else { continue };
            let results: &mut Vec<String> = match nexts[i] {
                Next::In(at) => known.entry(at).or_default(),
                Next::Before(at) => new.entry(at).or_default(),
            };
            for id in about.ids() {
                if let Some((at, j)) = later.remove(&**id).filter(|(at, _)| *at > i) {
                    self.note(&about.at(Place::Block(at, j)), Deed::Moved);
                    gone.entry(at).or_default().insert(j);
                    results.push(self.drafts[at].item(j));
                } else {
                    self.note(about, Deed::Added);
                    results.push(lost_result(id));
                }
            }
        }
        for (at, blocks) in gone {
            self.drafts[at].remove(&blocks);
        }
        for (at, results) in known {
            self.drafts[at].add_results(&results);
        }
        let end = self.drafts.len();
        let drafts = std::mem::take(&mut self.drafts).into_iter().map(Some).chain([None]);
        for (at, draft) in (0..=end).zip(drafts) {
            self.drafts.extend(new.remove(&at).map(|results| {
                let mut draft = Draft::new(Role::User, &results[0]);
                draft.add_results(&results[1..]);
                draft
            }));
            self.drafts.extend(draft);
        }
    }

    /// The results that answer no call of the turn before, by id: the first of each.
    fn unasked(&self) -> HashMap<Box<str>, (usize, usize)> {
        let mut unasked = HashMap::new();
        for about in violations(&self.request(), &Profile::default(), &()) {
            if let (Fault::Orphan, Place::Block(i, j), Some(id)) =
                (about.fault, about.place, about.ids().first())
            {
                unasked.entry(id.clone()).or_insert((i, j));
            }
        }
        unasked
    }

    /// Takes out results of calls that are not there.
    pub(super) fn remove_orphans(&mut self, found: &[&Violation]) {
        let mut gone: BTreeMap<usize, HashSet<usize>> = BTreeMap::new();
        for about in found {
            if let Place::Block(i, j) = about.place {
                self.note(about, Deed::Removed);
                gone.entry(i).or_default().insert(j);
            }
        }
        for (i, mut blocks) in gone {
            if blocks.len() == self.drafts[i].message.blocks().len() {
                self.drafts[i].rewrite(0, LOST_CALL.to_owned());
                blocks.remove(&0);
            }
            self.drafts[i].remove(&blocks);
        }
    }
}

fn lost_result(id: &str) -> String {
    let id = Value::from(id);
    format!(r#"{{"type":"tool_result","tool_use_id":{id},"content":"{LOST_RESULT}","is_error":true}}"#)
}
