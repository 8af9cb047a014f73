//! System messages that the model does not take, or not where they are.

use std::collections::HashSet;

use super::super::block::Kind;
use super::super::message::Role;
use super::super::rules::{self, Place, Violation};
use super::draft::Draft;
use super::{Deed, GO_ON, Mending};

const OPERATOR: &str = r#"{"type":"text","text":"[system message]"}"#;

impl Mending {
    /// Makes system messages the user's. What changes the tools cannot be said there.
    pub(super) fn make_user(&mut self, found: &[&Violation]) {
        let mut gone = HashSet::new();
        for about in found {
            let Place::Message(i) = about.place else { continue };
            self.note(about, Deed::Changed);
            let blocks = self.drafts[i].message.blocks().iter().enumerate();
            let changes =
                blocks.filter(|(_, block)| block.kind == Kind::ToolChange).map(|(j, _)| j).collect();
            self.drafts[i].remove(&changes);
            if self.drafts[i].message.blocks().is_empty() {
                gone.insert(i);
            } else {
                self.drafts[i].make_user(OPERATOR);
            }
        }
        self.remove_messages(&gone);
    }

    /// Moves system messages behind the next turn of the user's, where there is none behind a placeholder for one.
    pub(super) fn move_system(&mut self, found: &[&Violation]) {
        let mut misplaced = HashSet::new();
        for about in found {
            if let Place::Message(i) = about.place {
                self.note(about, Deed::Moved);
                misplaced.insert(i);
            }
        }
        let mut waiting: Vec<Draft> = Vec::new();
        let mut is_behind_user = false;
        let drafts = std::mem::take(&mut self.drafts);
        for (i, draft) in drafts.into_iter().enumerate() {
            if misplaced.contains(&i) {
                waiting.push(draft);
                continue;
            }
            let is_user = draft.message.role() == Role::User;
            if is_behind_user && !is_user && !rules::is_directive(&draft.message) {
                self.drafts.append(&mut waiting);
            }
            is_behind_user = !waiting.is_empty() && (is_user || is_behind_user);
            self.drafts.push(draft);
        }
        if !waiting.is_empty() && !is_behind_user {
            self.drafts.push(Draft::new(Role::User, GO_ON));
        }
        self.drafts.append(&mut waiting);
    }
}
