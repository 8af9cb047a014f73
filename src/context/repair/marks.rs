//! Cache marks that are too many, or where none may be.

use super::super::block::Block;
use super::super::fields::{self, Fields};
use super::super::rules::{Place, Violation};
use super::{Deed, Mending};

impl Mending {
    /// Takes cache marks away.
    pub(super) fn unmark(&mut self, about: &Violation, places: impl IntoIterator<Item = Place>) {
        for place in places {
            self.note(&about.at(place), Deed::Changed);
            match place {
                Place::Block(i, j) => {
                    let json = without_mark(&self.drafts[i].item(j));
                    self.drafts[i].rewrite(j, json);
                }
                Place::Part(i, j, k) => {
                    let json = self.drafts[i].item(j);
                    let part = Block::parts(&json).into_iter().find(|(number, _)| *number == k);
                    let Some(span) = part.map(|(_, part)| part.span) else { continue };
                    let bare = without_mark(&json[span.clone()]);
                    self.drafts[i].rewrite(j, [&json[..span.start], &bare, &json[span.end..]].concat());
                }
                Place::System(k) => self.unmark_part("system", k),
                Place::Tool(k) => self.unmark_part("tools", k),
                _ => {}
            }
        }
    }

    fn unmark_part(&mut self, name: &str, number: usize) {
        let parts = self.head.parts(name).into_iter().enumerate();
        let parts = parts.map(|(k, part)| if k == number { without_mark(part) } else { part.to_owned() });
        let parts = fields::list(parts);
        self.head.set(name, &parts);
    }
}

fn without_mark(json: &str) -> String {
    Fields::read(json).unwrap_or_default().with(&[("cache_control", None)])
}
