//! Telling clients what becomes of the memories that they have subscribed to.
//!
//! One thread follows the changes while anybody is subscribed. What a client is to be told is gathered for it until it has
//! read what it was told before: a slow one is told less often, and nobody waits for it.
//!
//! A client of the revisions until 2025-11-25 subscribes to one resource after another, and is told of changes of the list
//! once it has asked for it. A newer one opens streams, each with all that it wants.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::thread;
use std::time::Duration;

use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{ServiceError, SubscriptionContext, SubscriptionSendError, SubscriptionSink};
use rmcp::{ErrorData, Peer, RoleServer};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::{Notify, watch};

use super::resources::{bad_uri, refused};
use super::uri;
use crate::store::{Changed, Changes, Store};

mod wants;

use wants::{Due, Names, Wants};

/// So many subscriptions there may be, a stream counting as one more.
const MOST: usize = 1000;
/// How soon after the last client has gone the thread ends.
const PATIENCE: Duration = Duration::from_secs(5);
/// As many accepted streams are kept for when they begin; one that the client left in between never does.
const MOST_ACCEPTED: usize = 64;

/// The subscriptions of a server's clients.
pub(super) struct Events {
    feed: Arc<Feed>,
    /// The client of an older revision, once it wants to be told of something.
    session: Mutex<Option<Arc<Subscriber>>>,
    /// Streams that were accepted and have not begun.
    accepted: Mutex<VecDeque<(SubscriptionFilter, Arc<Subscriber>)>>,
    /// Whether the client has ended its input.
    ended: watch::Sender<bool>,
}

impl Events {
    pub(super) fn new(store: Store) -> Self {
        Self {
            feed: Arc::new(Feed { store, state: Mutex::default() }),
            session: Mutex::default(),
            accepted: Mutex::default(),
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
            lock(&subscriber.wants).resources.remove(uri);
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
        let mut wants = lock(&subscriber.wants).clone();
        change(&mut wants);
        self.feed.join(&subscriber, wants)?;
        if session.is_none() {
            *session = Some(Arc::clone(&subscriber));
            tokio::spawn(tell_session(peer.clone(), subscriber, self.ended.subscribe()));
        }
        Ok(())
    }

    /// What a stream may tell of what was asked for: of what is no address of a memory nothing. From here on nothing is
    /// missed.
    pub(super) fn accept(&self, requested: &SubscriptionFilter) -> SubscriptionFilter {
        let subscriber = Arc::new(Subscriber::new(Names::Subscribed));
        let joined = wanted(requested).and_then(|wants| self.feed.join(&subscriber, wants));
        if joined.is_err() {
            // Nothing is accepted, and why not is told when the stream begins.
            return SubscriptionFilter::new();
        }
        let filter = requested.intersection(&lock(&subscriber.wants).filter());
        let mut accepted = lock(&self.accepted);
        accepted.push_back((filter.clone(), subscriber));
        if accepted.len() > MOST_ACCEPTED {
            accepted.pop_front();
        }
        filter
    }

    /// Tells a stream until its client ends it.
    pub(super) async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let begun = {
            let mut accepted = lock(&self.accepted);
            let at = accepted.iter().position(|(filter, _)| filter == context.accepted());
            at.and_then(|at| accepted.remove(at))
        };
        let subscriber = if let Some((_, subscriber)) = begun {
            subscriber
        } else {
            let subscriber = Arc::new(Subscriber::new(Names::Subscribed));
            self.feed.join(&subscriber, wanted(context.requested())?)?;
            subscriber
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
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    subscribers: Vec<Weak<Subscriber>>,
    is_running: bool,
}

impl Feed {
    /// Lets a subscriber be told of what it wants from now on, if that is not too much.
    fn join(self: &Arc<Self>, subscriber: &Arc<Subscriber>, wants: Wants) -> Result<(), ErrorData> {
        let mut state = lock(&self.state);
        state.subscribers.retain(|subscriber| subscriber.strong_count() > 0);
        let others = state.alive().filter(|other| !Arc::ptr_eq(other, subscriber));
        let count = others.map(|other| lock(&other.wants).count()).sum::<usize>() + wants.count();
        if count > MOST {
            return Err(too_many());
        }
        if !wants.is_empty() && !state.is_running {
            let following = self.store.changes().map_err(|error| refused(&error))?;
            let feed = Arc::clone(self);
            thread::Builder::new()
                .name("memdir-changes".to_owned())
                .spawn(move || feed.follow(following))
                .map_err(|_| ErrorData::internal_error("Changes cannot be followed now, try again", None))?;
            state.is_running = true;
        }
        *lock(&subscriber.wants) = wants;
        if !state.alive().any(|other| Arc::ptr_eq(&other, subscriber)) {
            state.subscribers.push(Arc::downgrade(subscriber));
        }
        Ok(())
    }

    /// Tells all subscribers, until none is left.
    fn follow(&self, mut following: Changes) {
        loop {
            // What cannot be read now is told later.
            let changed = following.next(PATIENCE).unwrap_or_default();
            let mut state = lock(&self.state);
            if state.alive().all(|subscriber| lock(&subscriber.wants).is_empty()) {
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

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::MemoryPath;
    use crate::store::Happened;

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
