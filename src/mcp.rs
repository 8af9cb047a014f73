//! The memory as a server of the Model Context Protocol: for the agents that people already use.
//!
//! One server is one store; no request can name another. Calls run in the order in which they came, on one thread
//! ([`worker`]), so that those that come together share a sync and are answered as if one after the other; whatever else is
//! asked sees what the calls before it did.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetPromptRequestParams, GetPromptResponse, Implementation,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, ServerInitializeError, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::error::Error;
use crate::recall::Recall;
use crate::store::{Actor, Store};
use crate::tool::Dispatcher;

mod daily;
mod ends;
mod events;
mod frame;
mod prompts;
mod resources;
mod stdio;
mod tools;
mod uri;
mod worker;

pub(crate) use daily::Rounds;
use events::Events;
pub(crate) use prompts::known;
use stdio::{Limits, Stdio};
use worker::{Complaints, Worker};

/// The revisions of the protocol that are spoken.
const VERSIONS: &[ProtocolVersion] = ProtocolVersion::KNOWN_VERSIONS;
/// Characters of a client's name that the history has at most.
const NAME_CHARS: usize = 100;
/// What is told of a call that ended in a fault of the program.
const UNFINISHED: &str = "The call could not be finished, and may have been carried out in part; view the memory before trying again";
/// What a host may tell its model of this server.
const INSTRUCTIONS: &str = include_str!("mcp/instructions.txt");

/// A server over one store.
pub(crate) struct Server {
    store: Store,
    recall: Recall,
    worker: Worker,
    tools: Arc<tools::Tools>,
    events: Arc<Events>,
    complaints: Complaints,
}

impl Server {
    /// Makes a server. Changes are the client's, by the name that it gives itself, unless `actor` says whose they are;
    /// `complaints` hears what goes wrong beside the answers.
    pub(crate) fn new(
        store: Store,
        actor: Option<Actor>,
        complaints: impl Fn(Error) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let dispatcher = Dispatcher::new(store.clone()).watching();
        let recall = dispatcher.recall().clone();
        let tools = Arc::new(tools::Tools::new(store.settings()));
        let complaints: Complaints = Arc::new(complaints);
        let events = Arc::new(Events::new(store.clone(), Arc::clone(&complaints)));
        let worker = Worker::start(dispatcher, store.clone(), actor, Arc::clone(&complaints))?;
        Ok(Self { store, recall, worker, tools, events, complaints })
    }

    /// Answers on standard input and output until the client is gone. A message may have `line_limit` bytes.
    pub(crate) fn serve_stdio(self, line_limit: usize, rounds: Rounds) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let served = runtime.block_on(async {
            let (input, output) = ends::ends();
            self.serve_on(input, output, line_limit, rounds).await
        });
        // A thread that still waits for input is not waited for.
        runtime.shutdown_background();
        served
    }

    async fn serve_on(
        self,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        line_limit: usize,
        rounds: Rounds,
    ) -> io::Result<()> {
        let settings = self.store.settings();
        let answer = settings.file_limit.max(settings.image_limit);
        let limits = Limits { line: line_limit, answer: usize::try_from(answer).unwrap_or(usize::MAX) };
        let events = Arc::clone(&self.events);
        let expect = move |accepted: &SubscriptionFilter| events.expect(accepted);
        let (connection, writer) = Stdio::new(self.events.until_end(input), output, limits, Arc::new(expect));
        let writer = tokio::spawn(writer);
        let pruning = tokio::spawn(daily::prune(self.store.clone(), Arc::clone(&self.complaints), rounds));
        let served = match self.serve(connection).await {
            Ok(service) => service.waiting().await.map(drop).map_err(io::Error::other),
            // It has gone before it asked for anything.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        };
        pruning.abort();
        // Whatever the end, what was answered is written.
        writer.await.map_err(io::Error::other).and(served)
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_prompts()
            .build();
        let mut server = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        server.title = Some("memdir".to_owned());
        ServerConfig::new(capabilities).with_server_info(server).with_instructions(INSTRUCTIONS.trim_end())
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(VERSIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.for_client(context.client_info().as_ref())))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let client = context.client_info();
        let (call, structure) = self.tools.call(request, client.as_ref())?;
        let answer =
            self.worker.call(call, client.as_ref().and_then(signature), context.ct.cancelled()).await;
        let answer = answer.ok_or_else(|| ErrorData::internal_error(UNFINISHED, None))?;
        Ok(tools::result(answer, structure).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let (store, events) = (self.store.clone(), Arc::clone(&self.events));
        let cursor = request.and_then(|request| request.cursor);
        self.in_turn(move || {
            // Only who has said `initialize` is told without a stream.
            if context.peer.peer_info().is_some() {
                events.lists(&context.peer);
            }
            resources::list(&store, cursor.as_deref())
        })
        .await
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let store = self.store.clone();
        self.in_turn(move || resources::read(&store, &request.uri)).await.map(Into::into)
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(self.events.accept(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        Arc::clone(&self.events).listen(context).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let events = Arc::clone(&self.events);
        self.in_turn(move || events.subscribe(&request.uri, &context.peer)).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let events = Arc::clone(&self.events);
        self.in_turn(move || {
            events.unsubscribe(&request.uri);
            Ok(())
        })
        .await
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::all()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let recall = self.recall.clone();
        self.in_turn(move || prompts::get(&recall, &request)).await.map(Into::into)
    }
}

/// What a client's changes are signed with in the history.
fn signature(client: &Implementation) -> Option<String> {
    let name: String = client.name.trim().chars().take(NAME_CHARS).collect();
    (!name.is_empty()).then_some(name)
}

impl Server {
    /// As [`apart`], after the calls that came before.
    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        self.worker.turn().await;
        apart(work).await
    }
}

/// Does what may wait for the disk on another thread.
async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ErrorData> + Send + 'static,
) -> Result<T, ErrorData> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(ErrorData::internal_error("The request could not be finished", None)))
}
