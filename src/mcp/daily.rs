//! What a server does by itself, soon after it began and then once a day: entries whose time is over go.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::worker::Complaints;
use crate::error::Result;
use crate::recall::Recall;
use crate::store::{Actor, Store};

/// Who removes them, for the history.
const ACTOR: &str = "memdir mcp";

/// When a server prunes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounds {
    /// So long after it began to serve, so that what it is asked first need not wait.
    pub(crate) first: Duration,
    /// So long after the time before.
    pub(crate) every: Duration,
}

/// Removes what `memdir prune` would, again and again. What fails is tried again the next time.
pub(super) async fn prune(store: Store, complaints: Complaints, rounds: Rounds) {
    let store = store.with_actor(Actor::Agent(ACTOR.to_owned()));
    let mut rounds = interval_at(Instant::now() + rounds.first, rounds.every);
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        rounds.tick().await;
        let store = store.clone();
        match tokio::task::spawn_blocking(move || prune_once(&store)).await {
            Ok(Ok(entries)) => tracing::info!(entries, "pruned"),
            Ok(Err(error)) => {
                tracing::warn!("what has expired is removed the next time: {error}");
                complaints(error);
            }
            Err(_) => tracing::error!("the removal of what has expired has panicked"),
        }
    }
}

/// Removes them now: how many there were.
fn prune_once(store: &Store) -> Result<usize> {
    // What answers questions is not waited for, and keeps nothing in memory that was never asked for.
    let entries = Recall::new(store.clone()).watching().prune()?.len();
    if store.is_unsynced() {
        store.sync()?;
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::ops::ControlFlow;
    use std::path::Path;
    use std::sync::mpsc;
    use std::sync::{Arc, Mutex};

    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

    use super::*;
    use crate::error::Error;
    use crate::mcp::Server;
    use crate::path::MemoryPath;
    use crate::store::Edit;
    use crate::version::{Log, Operation, Version};

    const OFTEN: Rounds = Rounds { first: Duration::ZERO, every: Duration::from_millis(5) };
    /// For what happens at once.
    const PATIENCE: Duration = Duration::from_secs(60);

    const OVER: &str =
        "---\nimportance: 5\nexpires_at: 2020-01-01T00:00:00Z\n---\nThe sprint ends on Friday.\n";

    fn put(dir: &Path, name: &str, text: &str) {
        let edit = Edit::write(&at(name), text);
        let made: Result<()> = open(dir).change(move |_| Ok((vec![edit.clone()], ())));
        made.unwrap();
    }

    /// A store with an entry whose time is over, and one that stays.
    fn filled(settings: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("memdir.toml"), settings).unwrap();
        put(dir.path(), "over.md", OVER);
        put(dir.path(), "stays.md", "---\nimportance: 1\n---\nThe user likes tea.\n");
        dir
    }

    fn at(name: &str) -> MemoryPath {
        MemoryPath::from_normal(format!("project_context/{name}"))
    }

    fn open(dir: &Path) -> Store {
        Store::open(dir).unwrap()
    }

    fn is_there(dir: &Path, name: &str) -> bool {
        dir.join("memories/project_context").join(name).exists()
    }

    fn run(work: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await.unwrap() });
    }

    async fn until(is_so: impl Fn() -> bool) {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn deletions(store: &Store) -> Vec<Version> {
        let mut all = Vec::new();
        let log = Log { operation: Some(Operation::Deleted), ..Log::default() };
        let each = &mut |version| {
            all.push(version);
            Ok(ControlFlow::Continue(()))
        };
        store.history().unwrap().versions(&log, each).unwrap();
        all
    }

    #[test]
    fn what_has_expired_goes_once_and_by_whom_is_in_the_history() {
        let dir = filled("");
        let done = Arc::new(Mutex::new(Vec::new()));
        run(async {
            for _ in 0..3 {
                let done = Arc::clone(&done);
                let complaints: Complaints = Arc::new(move |error: Error| done.lock().unwrap().push(error));
                tokio::spawn(prune(open(dir.path()), complaints, OFTEN));
            }
            until(|| !is_there(dir.path(), "over.md")).await;
        });
        assert!(is_there(dir.path(), "stays.md"));
        let gone = deletions(&open(dir.path()));
        let told = |version: &Version| (version.created_by.clone(), version.reason.clone());
        let right = (Actor::Agent("memdir mcp".to_owned()), Some("pruned: expired".to_owned()));
        assert_eq!(gone.iter().map(told).collect::<Vec<_>>(), [right]);
        assert!(done.lock().unwrap().is_empty(), "{done:?}");
    }

    #[test]
    fn what_fails_is_told_and_tried_again() {
        let dir = filled("lock_wait = \"1ms\"\n");
        let store = open(dir.path());
        let lock = File::options().write(true).open(dir.path().join(".memdir/lock")).unwrap();
        lock.lock().unwrap();
        let (tell, told) = mpsc::channel();
        let complaints: Complaints = Arc::new(move |error| drop(tell.send(error)));
        run(async {
            tokio::spawn(prune(store, complaints, OFTEN));
            let first = tokio::task::spawn_blocking(move || told.recv().unwrap()).await.unwrap();
            assert!(matches!(first, Error::Busy { .. }), "{first}");
            assert!(is_there(dir.path(), "over.md"));
            lock.unlock().unwrap();
            until(|| !is_there(dir.path(), "over.md")).await;
        });
    }

    #[test]
    fn what_must_not_be_changed_stays() {
        let dir = filled("");
        fs::write(dir.path().join("memdir.toml"), "read_only = [\"/memories/\"]\n").unwrap();
        assert_eq!(prune_once(&open(dir.path())).unwrap(), 0);
        assert!(is_there(dir.path(), "over.md"));
    }

    /// The server itself, from a client's side: who subscribed is told of what goes.
    #[test]
    fn a_server_prunes_and_tells_who_has_subscribed() {
        let dir = filled("lock_wait = \"1ms\"\n");
        let server = Server::new(open(dir.path()), None, |_| ()).unwrap();
        // Nothing goes before somebody has subscribed.
        let lock = File::options().write(true).open(dir.path().join(".memdir/lock")).unwrap();
        lock.lock().unwrap();
        let (client, server_end) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(server_end);
        let (answers, mut asked) = tokio::io::split(client);
        run(async {
            let ended = tokio::spawn(server.serve_on(input, output, 1 << 20, OFTEN));
            let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
            let uri = json!({"uri": "memory:///memories/"});
            for (id, method, params) in [(1, "initialize", hello), (2, "resources/subscribe", uri)] {
                let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
                asked.write_all(format!("{line}\n").as_bytes()).await.unwrap();
            }
            let mut lines = BufReader::new(answers).lines();
            let mut uri = Value::Null;
            while uri != "memory:///memories/project_context/over.md" {
                let line = lines.next_line().await.unwrap().unwrap();
                let message: Value = serde_json::from_str(&line).unwrap();
                uri = message["params"]["uri"].clone();
                if message["id"] == 2 {
                    lock.unlock().unwrap();
                }
            }
            assert!(!is_there(dir.path(), "over.md"));
            asked.shutdown().await.unwrap();
            ended.await.unwrap().unwrap();
        });
    }
}
