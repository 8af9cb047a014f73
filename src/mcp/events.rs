//! Telling clients what becomes of the memories that they have subscribed to.
//!
//! One thread follows the changes while anybody is subscribed. What a client is to be told is gathered for it until it has
//! read what it was told before: a slow one is told less often, and nobody waits for it.
//!
//! A client of the revisions until 2025-11-25 subscribes to one resource after another, and is told of changes of the list
//! once it has asked for it. A newer one opens streams, each with all that it wants.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, ready};
use std::thread;
use std::time::Duration;

use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{ServiceError, SubscriptionContext, SubscriptionSendError, SubscriptionSink};
use rmcp::{ErrorData, Peer, RoleServer};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::{Notify, watch};

use super::resources::{bad_uri, refused};
use super::worker::Complaints;
use super::{apart, uri};
use crate::store::{Changed, Changes, Store, lock};

mod wants;

use wants::{Due, Names, Wants};

/// So many subscriptions there may be, a stream counting as one more.
const MOST: usize = 1000;
/// How soon after the last client has gone the thread ends.
const PATIENCE: Duration = Duration::from_secs(5);
/// As many streams are kept for when they begin.
const MOST_EXPECTED: usize = 64;

/// The subscriptions of a server's clients.
pub(super) struct Events {
    feed: Arc<Feed>,
    /// The client of an older revision, once it wants to be told of something.
    session: Mutex<Option<Arc<Subscriber>>>,
    /// Streams whose clients are being told that they were accepted.
    expected: Mutex<VecDeque<(SubscriptionFilter, Arc<Subscriber>)>>,
    /// Whether the client has ended its input.
    ended: watch::Sender<bool>,
}

impl Events {
    /// `complaints` hears when the changes cannot be read.
    pub(super) fn new(store: Store, complaints: Complaints) -> Self {
        Self {
            feed: Arc::new(Feed { store, complaints, state: Mutex::default(), begins: Mutex::default() }),
            session: Mutex::default(),
            expected: Mutex::default(),
            ended: watch::Sender::new(false),
        }
    }

    /// A reader that ends the streams when it comes to its end: else they would be waited for.
    pub(super) fn until_end<R>(&self, reader: R) -> Ending<R> {
        Ending { reader, ended: self.ended.clone() }
    }

    /// Tells a client of an older revision of a resource, or of all below a directory, from now on. It need not be there.
    pub(super) fn subscribe(&self, uri: &str, peer: &Peer<RoleServer>) -> Result<(), ErrorData> {
        let path = uri::parse(uri).map_err(|why| bad_uri(uri, why))?;
        self.want(peer, |wants| drop(wants.resources.insert(uri.to_owned(), path)))
    }

    /// Tells it no more of a resource.
    pub(super) fn unsubscribe(&self, uri: &str) {
        if let Some(subscriber) = &*lock(&self.session) {
            subscriber.forget(uri);
        }
    }

    /// Tells a client of an older revision when the list that it asks for changes. That it cannot be told is no reason not
    /// to answer.
    pub(super) fn lists(&self, peer: &Peer<RoleServer>) {
        let _ = self.want(peer, |wants| wants.list = true);
    }

    /// Changes what the client of an older revision wants.
    fn want(&self, peer: &Peer<RoleServer>, change: impl FnOnce(&mut Wants)) -> Result<(), ErrorData> {
        let mut session = lock(&self.session);
        let subscriber = match &*session {
            Some(subscriber) => Arc::clone(subscriber),
            None => Arc::new(Subscriber::new(Names::Own)),
        };
        let before = lock(&subscriber.wants).clone();
        let mut wants = before.clone();
        change(&mut wants);
        self.feed.join(&subscriber, wants).inspect_err(|_| *lock(&subscriber.wants) = before)?;
        if session.is_none() {
            *session = Some(Arc::clone(&subscriber));
            tokio::spawn(tell_session(peer.clone(), subscriber, self.ended.subscribe()));
        }
        Ok(())
    }

    /// What a stream may tell of what was asked for: of what is no address of a memory nothing.
    pub(super) fn accept(&self, requested: &SubscriptionFilter) -> SubscriptionFilter {
        match wanted(requested) {
            Ok(wants) if self.feed.has_room(&wants) => requested.intersection(&wants.filter()),
            // Nothing is accepted, and why not is told when the stream begins.
            _ => SubscriptionFilter::new(),
        }
    }

    /// Comes before a client is told that a stream was accepted: from here on it misses nothing.
    pub(super) fn expect(&self, accepted: &SubscriptionFilter) {
        let subscriber = Arc::new(Subscriber::new(Names::Subscribed));
        let wants = Wants::of(accepted);
        // Why not is told when the stream begins.
        if !wants.is_empty() && self.feed.join(&subscriber, wants).is_ok() {
            let mut expected = lock(&self.expected);
            expected.push_back((accepted.clone(), subscriber));
            if expected.len() > MOST_EXPECTED {
                expected.pop_front();
            }
        }
    }

    /// Tells a stream until its client ends it.
    pub(super) async fn listen(self: Arc<Self>, context: SubscriptionContext) -> Result<(), ErrorData> {
        let begun = {
            let mut expected = lock(&self.expected);
            let at = expected.iter().position(|(filter, _)| filter == context.accepted());
            at.and_then(|at| expected.remove(at))
        };
        let subscriber = if let Some((_, subscriber)) = begun {
            subscriber
        } else {
            let (feed, wants) = (Arc::clone(&self.feed), wanted(context.requested())?);
            apart(move || {
                let subscriber = Arc::new(Subscriber::new(Names::Subscribed));
                feed.join(&subscriber, wants)?;
                Ok(subscriber)
            })
            .await?
        };
        let mut ended = self.ended.subscribe();
        tokio::select! {
            () = tell_stream(context.sink(), &subscriber) => {}
            () = context.cancelled() => {}
            _ = ended.wait_for(|ended| *ended) => {}
        }
        Ok(())
    }
}

/// What a stream is asked for. More than can be is not looked at.
fn wanted(requested: &SubscriptionFilter) -> Result<Wants, ErrorData> {
    let count = requested.resource_subscriptions.as_ref().map_or(0, Vec::len);
    if count > MOST { Err(too_many()) } else { Ok(Wants::of(requested)) }
}

fn too_many() -> ErrorData {
    let words = format!("At most {MOST} subscriptions are possible at a time; end some that are not needed");
    ErrorData::invalid_params(words, None)
}

async fn tell_session(peer: Peer<RoleServer>, subscriber: Arc<Subscriber>, mut ended: watch::Receiver<bool>) {
    let tell = async {
        loop {
            let due = subscriber.due().await;
            if send_to_session(&peer, due).await.is_err() {
                break;
            }
        }
    };
    tokio::select! {
        () = tell => {}
        // It fails when the server is gone.
        _ = ended.wait_for(|ended| *ended) => {}
    }
}

async fn send_to_session(peer: &Peer<RoleServer>, due: Due) -> Result<(), ServiceError> {
    if due.list {
        peer.notify_resource_list_changed().await?;
    }
    for uri in due.resources {
        peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await?;
    }
    Ok(())
}

async fn tell_stream(sink: &SubscriptionSink, subscriber: &Subscriber) {
    loop {
        let due = subscriber.due().await;
        if send_to_stream(sink, due).await.is_err() {
            return;
        }
    }
}

async fn send_to_stream(sink: &SubscriptionSink, due: Due) -> Result<(), SubscriptionSendError> {
    if due.list {
        sink.notify_resource_list_changed().await?;
    }
    for uri in due.resources {
        sink.notify_resource_updated(uri).await?;
    }
    Ok(())
}

/// What reads for a server, and takes note of the end.
pub(super) struct Ending<R> {
    reader: R,
    ended: watch::Sender<bool>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Ending<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.reader).poll_read(context, buffer));
        if read.is_err() || buffer.filled().len() == before {
            self.ended.send_replace(true);
        }
        Poll::Ready(read)
    }
}

/// The thread that follows the changes, and for whom.
struct Feed {
    store: Store,
    complaints: Complaints,
    state: Mutex<State>,
    /// Held by who begins to follow, which takes its time: nobody else waits for that.
    begins: Mutex<()>,
}

#[derive(Default)]
struct State {
    subscribers: Vec<Weak<Subscriber>>,
    is_running: bool,
}

impl Feed {
    /// Whether one more may want so much.
    fn has_room(&self, wants: &Wants) -> bool {
        lock(&self.state).wanted() + wants.count() <= MOST
    }

    /// Lets a subscriber be told of what it wants from now on, if that is not too much.
    fn join(self: &Arc<Self>, subscriber: &Arc<Subscriber>, wants: Wants) -> Result<(), ErrorData> {
        self.admit(subscriber, wants)?;
        self.begin()
    }

    fn admit(&self, subscriber: &Arc<Subscriber>, wants: Wants) -> Result<(), ErrorData> {
        let mut state = lock(&self.state);
        state.subscribers.retain(|other| {
            other.strong_count() > 0 && !std::ptr::eq(other.as_ptr(), Arc::as_ptr(subscriber))
        });
        let has_room = state.wanted() + wants.count() <= MOST;
        if has_room {
            *lock(&subscriber.wants) = wants;
        }
        state.subscribers.push(Arc::downgrade(subscriber));
        if has_room { Ok(()) } else { Err(too_many()) }
    }

    /// Follows the changes, if somebody wants to hear of them and nobody does yet.
    fn begin(self: &Arc<Self>) -> Result<(), ErrorData> {
        let _alone = lock(&self.begins);
        if !lock(&self.state).is_to_begin() {
            return Ok(());
        }
        let following = self.store.changes().map_err(|error| refused(&error))?;
        let feed = Arc::clone(self);
        lock(&self.state).is_running = true;
        let spawned = thread::Builder::new()
            .name("memdir-changes".to_owned())
            .spawn(move || feed.follow(following))
            .map_err(|_| ErrorData::internal_error("Changes cannot be followed now, try again", None));
        lock(&self.state).is_running &= spawned.is_ok();
        spawned.map(drop)
    }

    /// Tells all subscribers, until none is left.
    fn follow(&self, mut following: Changes) {
        let mut has_complained = false;
        loop {
            let changed = following.next(PATIENCE).unwrap_or_else(|error| {
                // What cannot be read now is told later; that it cannot, once.
                if !std::mem::replace(&mut has_complained, true) {
                    (self.complaints)(error);
                }
                Vec::new()
            });
            let mut state = lock(&self.state);
            if state.is_idle() {
                state.is_running = false;
                return;
            }
            state.alive().for_each(|subscriber| subscriber.hear(&changed));
        }
    }
}

impl State {
    fn alive(&self) -> impl Iterator<Item = Arc<Subscriber>> {
        self.subscribers.iter().filter_map(Weak::upgrade)
    }

    /// How much all want together.
    fn wanted(&self) -> usize {
        self.alive().map(|subscriber| lock(&subscriber.wants).count()).sum()
    }

    /// Whether nobody wants anything.
    fn is_idle(&self) -> bool {
        self.alive().all(|subscriber| lock(&subscriber.wants).is_empty())
    }

    fn is_to_begin(&self) -> bool {
        !self.is_running && !self.is_idle()
    }
}

/// A client, or one of its streams.
struct Subscriber {
    names: Names,
    wants: Mutex<Wants>,
    due: Mutex<Due>,
    news: Notify,
}

impl Subscriber {
    fn new(names: Names) -> Self {
        Self { names, wants: Mutex::default(), due: Mutex::default(), news: Notify::new() }
    }

    /// Takes note of what it is to be told.
    fn hear(&self, changed: &[Changed]) {
        let is_due = {
            let mut due = lock(&self.due);
            due.add(&lock(&self.wants), self.names, changed);
            !due.is_empty()
        };
        if is_due {
            self.news.notify_one();
        }
    }

    /// Wants to hear no more of a resource, nor what is due of it alone.
    fn forget(&self, uri: &str) {
        let mut due = lock(&self.due);
        let mut wants = lock(&self.wants);
        wants.resources.remove(uri);
        due.keep(&wants);
    }

    /// Waits until it is to be told something.
    async fn due(&self) -> Due {
        loop {
            let due = std::mem::take(&mut *lock(&self.due));
            if !due.is_empty() {
                return due;
            }
            self.news.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::MemoryPath;
    use crate::store::Happened;

    #[test]
    fn what_is_unsubscribed_is_due_no_more() {
        let subscriber = Subscriber::new(Names::Own);
        let at = |at: &str| (uri::of(&MemoryPath::from_normal(at)), MemoryPath::from_normal(at));
        *lock(&subscriber.wants) = Wants { list: false, resources: ["a", "d", "d/e"].map(at).into() };
        let edited = |at: &str| Changed { path: MemoryPath::from_normal(at), what: Happened::Edited };
        subscriber.hear(&["a", "d/e/1", "d/2"].map(edited));
        let due = || -> Vec<String> { lock(&subscriber.due).resources.iter().cloned().collect() };
        let right = |paths: &[&str]| -> Vec<String> { paths.iter().map(|path| at(path).0).collect() };
        assert_eq!(due(), right(&["a", "d/2", "d/e/1"]));
        subscriber.forget(&at("d").0);
        assert_eq!(due(), right(&["a", "d/e/1"]));
        subscriber.forget(&at("a").0);
        subscriber.forget(&at("d/e").0);
        assert_eq!(due(), right(&[]));
    }

    /// Whether the room is counted is told without a look at the disk.
    #[test]
    fn a_stream_that_never_begins_takes_no_room() {
        let dir = tempfile::tempdir().unwrap();
        let events = Events::new(Store::open(dir.path()).unwrap(), Arc::new(|_| ()));
        let mut all = SubscriptionFilter::new();
        all.resource_subscriptions = Some((0..MOST - 1).map(|n| format!("memory:///memories/{n}")).collect());
        assert_eq!(events.accept(&all), all);
        assert_eq!(events.accept(&all), all);
        assert!(!lock(&events.feed.state).is_running);
        events.expect(&all);
        assert!(lock(&events.feed.state).is_running);
        assert_eq!(events.accept(&all), SubscriptionFilter::new());
        // What is no more is not counted.
        lock(&events.expected).clear();
        assert_eq!(events.accept(&all), all);
    }

    #[test]
    fn who_does_not_read_costs_only_so_much() {
        let subscriber = Subscriber::new(Names::Own);
        let resources = ["d", "d/e"].map(|at| (at.to_owned(), MemoryPath::from_normal(at))).into();
        *lock(&subscriber.wants) = Wants { list: true, resources };
        for n in 0..3 * MOST {
            let path = MemoryPath::from_normal(format!("d/e/{n}"));
            subscriber.hear(&[Changed { path, what: Happened::Made }]);
        }
        let due = std::mem::take(&mut *lock(&subscriber.due));
        assert!(due.list && due.resources.len() <= MOST + 2);
        assert!(due.resources.contains("d") && due.resources.contains("d/e"));
    }
}
