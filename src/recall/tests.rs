//! Structured memory from end to end, over real stores.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, Duration, Utc};

use super::*;
use crate::store::{Edit, Found, Settings};
use crate::version::{Log, Operation};

mod index;
mod lifecycle;
mod meanwhile;
mod pairs;
mod score;
mod secrets;
mod set;
mod two_faces;
mod words;

/// A store with a clock that only a test moves.
struct Bench {
    dir: tempfile::TempDir,
    recall: Recall,
    clock: Arc<AtomicI64>,
}

const START: i64 = 1_796_000_000;

impl Bench {
    fn new() -> Self {
        Self::with("")
    }

    fn with(settings: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(AtomicI64::new(START));
        let store = open(dir.path(), settings, &clock);
        Self { dir, recall: Recall::new(store), clock }
    }

    /// The same store as another process has it.
    fn other(&self) -> Recall {
        Recall::new(open(self.dir.path(), "", &self.clock))
    }

    fn pass(&self, time: Duration) {
        self.clock.fetch_add(time.num_seconds(), Ordering::Relaxed);
    }

    fn now(&self) -> DateTime<Utc> {
        self.recall.store_handle().now()
    }

    fn store(&self, content: &str) -> Stored {
        self.recall.store(entry(content)).unwrap()
    }

    fn found(&self, query: &str) -> Vec<String> {
        self.asked(&Ask { query: query.to_owned(), ..Ask::default() })
    }

    fn asked(&self, ask: &Ask) -> Vec<String> {
        self.recall.retrieve(ask).unwrap().memories.into_iter().map(|memory| memory.content).collect()
    }

    fn text(&self, path: &MemoryPath) -> Option<String> {
        match self.recall.store_handle().read(path).unwrap() {
            Found::File(bytes) => Some(String::from_utf8(bytes.to_vec()).unwrap()),
            Found::Not(_) => None,
        }
    }

    /// Writes a file as the memory tool does.
    fn write(&self, path: &str, text: &str) {
        let (path, text) = (MemoryPath::parse(path).unwrap(), text.to_owned());
        let write = move |snapshot: &mut crate::store::Snapshot<'_>| {
            snapshot.read(&path)?;
            Ok::<_, Error>((vec![Edit::write(&path, text.as_str())], ()))
        };
        self.recall.store_handle().change(write).unwrap();
    }
}

fn open(dir: &std::path::Path, settings: &str, clock: &Arc<AtomicI64>) -> Store {
    let clock = Arc::clone(clock);
    let clock = move || DateTime::from_timestamp(clock.load(Ordering::Relaxed), 0).unwrap();
    let settings = Settings::parse(settings).unwrap();
    Store::builder(dir).clock(clock).settings(settings).open().unwrap()
}

pub(super) fn entry(content: &str) -> NewEntry {
    NewEntry {
        content: content.to_owned(),
        category: "user_preference".to_owned(),
        importance: 3,
        ..NewEntry::default()
    }
}

fn live(recall: &Recall) -> usize {
    let all = Ask { limit: 1000, ..Ask::default() };
    recall.list(&all).unwrap().memories.len()
}
