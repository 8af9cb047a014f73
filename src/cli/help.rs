//! What the help of each command says beyond its options.

pub(super) const LONG_ABOUT: &str = "\
The memory of an LLM agent, kept as plain files that a person can read, edit, diff and delete.

A store is a directory. The agent's files are in its `memories/`, and `memdir call` answers the calls of the \
`memory_20250818` tool on them: view, create, str_replace, insert, delete, rename. What is changed is kept in a \
history in `.memdir/`, and an answered change survives a crash and a power cut. The other commands are for people: they \
show what agents wrote, and undo it.";

pub(super) const AFTER_HELP: &str = "\
Which store:
  --dir BASE, or --home HOME --store NAME (that is HOME/stores/NAME), else $MEMDIR_DIR, else (but for `call` and \
`init`) the nearest directory above that holds `.memdir`, else ./memory
  `mcp` and `hook`: these options, else $MEMDIR_DIR, else ~/.local/share/memdir (in $XDG_DATA_HOME, if that is set)

Examples:
  memdir init
  memdir call '{\"command\":\"create\",\"path\":\"/memories/todo.md\",\"file_text\":\"- buy milk\\n\"}'
  memdir call --dir ./memory < calls.jsonl
  memdir tree
  memdir log --since yesterday
  memdir diff todo.md
  memdir restore todo.md --before '2h ago'

Paths: /memories/todo.md, or todo.md, or where the file is on disk.
Times: 2026-11-30, '2026-11-30 10:00' (local time), 2026-11-30T10:00:00Z, today, 'yesterday 14:30', 30m, 2h, 3d, 1w.

Environment:
  MEMDIR_DIR      the store, where no option names one, of `mcp` and `hook`, too
  MEMDIR_ACTOR    who makes the changes of `call`, `mcp` and `hook`, where --actor does not say so
  MEMDIR_LOG      what `mcp` tells on standard error: a level (error, warn, info, debug, trace; trace tells what memories \
hold) or filters, as memdir=debug,rmcp=warn [default: error]
  VISUAL, EDITOR  the editor of `edit`
  NO_COLOR        no colours; a pipe gets none, either

Settings: memdir.toml in the store, beside memories/; all of it is optional.

Exit codes: 0 fine, 1 the command failed (`check`: something is wrong; `grep`: nothing matches), 2 wrong usage (`hook`: 1).";

pub(super) const INIT_EXAMPLES: &str = "\
Examples:
  memdir init
  memdir init ~/agents/planner/memory";

pub(super) const TREE_EXAMPLES: &str = "\
Columns: size, age of the last change, who made it. `outside` is what was written without memdir.

Examples:
  memdir tree
  memdir tree projects -L 1";

pub(super) const CAT_EXAMPLES: &str = "\
Examples:
  memdir cat notes.md
  memdir cat -n notes.md
  memdir cat notes.md --version memver_01KBA3XJ2M8Q4T6V0W2Y4Z6A8C";

pub(super) const GREP_EXAMPLES: &str = "\
Files that are no text are passed over. With --history each line begins with the id of the version. Exit code 1: nothing \
matches.

Examples:
  memdir grep 'Europe/Berlin'
  memdir grep -i -C 2 deadline projects
  memdir grep -E '20[0-9]{2}-[0-9]{2}' -l
  memdir grep --history 'Europe/Berlin' notes.md";

pub(super) const EDIT_ABOUT: &str = "\
Edit a memory in your editor, while agents may write to it.

$VISUAL, else $EDITOR, else on a terminal vi gets a private copy. If the memory was changed meanwhile in other places, both edits are in \
it afterwards, also where it was renamed to; one that was deleted is there again. If they meet in the same lines, the memory \
stays as it is, both texts are shown, and yours is kept as a version in the history. An editor that ends with another exit code than 0 changes nothing.";

pub(super) const EDIT_EXAMPLES: &str = "\
Examples:
  memdir edit notes.md
  EDITOR='code --wait' memdir edit notes.md --reason 'wrong address'";

pub(super) const LOG_EXAMPLES: &str = "\
Each change has a line with its id, its time and who made it; below it a line for each version: its id, what it did, its \
size and its path.

Examples:
  memdir log
  memdir log notes.md -n 5
  memdir log --since yesterday --actor agents
  memdir log projects --operation deleted --json";

pub(super) const DIFF_EXAMPLES: &str = "\
Examples:
  memdir diff notes.md                 what the last change did
  memdir diff notes.md yesterday       what has changed since
  memdir diff notes.md memver_01KBA3XJ2M8Q4T6V0W2Y4Z6A8C memver_01KBA3Y4N7R5S9V1W3X5Y7Z9AB";

pub(super) const RESTORE_ABOUT: &str = "\
Put memories back to an earlier state: one to the content of a version, a file, a directory or the whole store to what it \
was before a time. Or undo one change, wherever it is in the history.

Of a change that is undone, later edits and moves of the same files stay: it is taken out of the text as it is now. Where they \
changed the same lines, or there is nothing to merge (a file that is not text, or that the change made or deleted), the file \
goes back to what it was before the change, and the later versions are undone with it. Each line says which; --dry-run says \
it before.

A restore is a change of its own: nothing leaves the history, and it can be undone by its id. Deleted files come back. Where \
another memory is in the way, nothing is done without --overwrite.";

pub(super) const RESTORE_EXAMPLES: &str = "\
Examples:
  memdir restore notes.md --to memver_01KBA3XJ2M8Q4T6V0W2Y4Z6A8C
  memdir restore projects --before 'yesterday 14:30' --dry-run
  memdir restore --before 2h
  memdir restore --change memchg_01KBA3XJ2M8Q4T6V0W2Y4Z6A8C";

pub(super) const CHECK_ABOUT: &str = "\
Find out whether files and history agree.

Takes what others did to the files into the history, compares every file with its last version, and verifies the chain of \
versions, their contents and the database; and looks whether retrieval has the model and the index that it needs. For each thing \
that is wrong it says what to do. Exit code 1: something is wrong.

The chain proves nothing against somebody who can write the store: keep its end elsewhere (--print-head), and compare \
(--expect-head).";

pub(super) const CHECK_EXAMPLES: &str = "\
Examples:
  memdir check
  memdir check --fix
  memdir check --print-head > ~/memory.head
  memdir check --expect-head $(cat ~/memory.head)";

pub(super) const EXPORT_EXAMPLES: &str = "\
Examples:
  memdir export --output memory.tar
  memdir export --history --output - | zstd > memory.tar.zst";

pub(super) const IMPORT_ABOUT: &str = "\
Read files from a tar archive or a directory.

Nothing is changed unless all of it may be imported: links, absolute names, names that lead outside, and more than the limits \
allow are refused. Memories that are there already stay as they are, and are reported, unless --overwrite is given. The \
store is made if it is missing.";

pub(super) const IMPORT_EXAMPLES: &str = "\
Examples:
  memdir import memory.tar
  memdir import ~/old-notes --into notes
  zstd -d < memory.tar.zst | memdir import - --overwrite";

pub(super) const REDACT_ABOUT: &str = "\
Erase what versions in the history held, for good.

Content and path are gone from the history; that there was such a version stays, and the chain stays whole. What a memory \
holds now cannot be redacted: edit or delete it first. Other versions that hold the very same content are named; what holds \
parts of it is found by `memdir grep --history`. Exports, backups, git and other hard links to the files are out of reach.";

pub(super) const REDACT_EXAMPLES: &str = "\
Examples:
  memdir redact memver_01KBA3XJ2M8Q4T6V0W2Y4Z6A8C
  memdir redact $(memdir grep --history -l 'a secret')";

pub(super) const PRUNE_ABOUT: &str = "\
Remove entries whose time is over, or old versions from the history.

Without --history entries go: those that have expired; of more than the settings allow (`max` in `[entries]`) those of the \
lowest importance, decayed by age; and, where the settings say so (`unused`), what nobody has asked for in a long time. \
Pinned ones stay, unless they have expired. On a terminal it asks before. All of it can be restored until the history is pruned.

With --history old versions go, for good.";

pub(super) const PRUNE_EXAMPLES: &str = "\
Examples:
  memdir prune --dry-run
  memdir prune --yes
  memdir prune --history --dry-run
  memdir prune --history --keep-age 90d --keep-versions 50";

#[cfg(feature = "search")]
pub(super) const STORE_ABOUT: &str = "\
Store an entry: one fact, with a category and an importance, in a Markdown file of its own.

What says the same as an entry of the category that is there already makes no second one: that one is brought up to date. An \
entry with the same --key is replaced. Others that are alike stay, and are named with what differs.

The store is made if it is missing.";

#[cfg(feature = "search")]
pub(super) const STORE_EXAMPLES: &str = "\
Examples:
  memdir store 'Prefers dark mode in every editor.' --category user_preference --importance 5
  memdir store 'Staging runs on port 8443.' --category project_context --key staging.port --tag staging
  memdir store - --category decision_log --expires 90d < decision.md";

#[cfg(feature = "search")]
pub(super) const RETRIEVE_ABOUT: &str = "\
Find the memories that answer a question, and print them, best first.

It looks through entries and through the passages of all other files, by words and by meaning. The score is between 0 and 1, and \
comparable between questions: what answers nothing scores low, and is left out.";

#[cfg(feature = "search")]
pub(super) const RETRIEVE_EXAMPLES: &str = "\
Examples:
  memdir retrieve 'which port does staging use?'
  memdir retrieve 'editor settings' --category user_preference --min-importance 4
  memdir retrieve 'deployment' --as-of 'yesterday 14:30' --explain
  memdir retrieve '' -n 3 --json";

#[cfg(feature = "search")]
pub(super) const SEARCH_EXAMPLES: &str = "\
Words of the question, and others derived from them, stand out. What matched by its meaning alone may have none.

Examples:
  memdir search 'staging port'
  memdir search 'why sqlite' --path-prefix projects --since 4w";

#[cfg(feature = "search")]
pub(super) const LIST_EXAMPLES: &str = "\
Columns: id, importance, age of the last change, path; then, where there are any, `pinned` and tags. Files that are no \
entries have no importance.

Examples:
  memdir list --category user_preference
  memdir list --tag staging --json";

#[cfg(feature = "search")]
pub(super) const DELETE_EXAMPLES: &str = "\
`memdir restore` brings it back. A file that is no entry is not deleted: it may hold more than what is outdated.

Examples:
  memdir delete --id mem_01KBA3XJ2M8Q4T6V0W2Y4Z6A8C --reason 'moved to port 9443'";

#[cfg(feature = "search")]
pub(super) const PREFETCH_EXAMPLES: &str = "\
Pinned memories come first; then, with a QUERY, what answers it, else the newest and most important. Each has one line.

Examples:
  memdir prefetch
  memdir prefetch 'Can you fix the staging deployment?' --budget 500";

pub(super) const FORGET_ABOUT: &str = "\
Remove the whole store: all memories, their whole history, everything but `memdir.toml`. It cannot be undone.

On a terminal the name of the store's directory has to be typed, elsewhere --yes is needed. Afterwards another process \
searches every byte that is left for pieces of what was there. The receipt says what went, what was searched, and what is out \
of reach.";

pub(super) const FORGET_EXAMPLES: &str = "\
Examples:
  memdir forget --all
  memdir forget --all --yes --receipt receipt.json";

#[cfg(feature = "search")]
pub(super) const EVAL_ABOUT: &str = "\
Measure how well questions are answered whose answers are known.

The documents of the set go into a store of their own, the questions are asked by words, by meaning, and by both, and what comes \
back is compared with what should: recall at 1, 5 and 10, mean reciprocal rank, nDCG at 10, milliseconds. Of questions that \
have no answer it is counted how many got none.

A document: {\"doc\": NAME, \"text\": TEXT} and, if any, \"category\" (then it is an entry) or \"path\" (of a plain file), \"tags\", \
\"importance\", \"created_at\", \"expires_at\", \"key\". A question: {\"query\": NAME, \"text\": TEXT, \"relevant\": [NAMES]} and, if any, \
\"kind\", \"categories\", \"tags\", \"since\", \"min_importance\".";

#[cfg(feature = "search")]
pub(super) const EVAL_EXAMPLES: &str = "\
Examples:
  memdir eval questions.jsonl
  memdir eval questions.jsonl --kinds --model ~/models/potion-base-8M";

#[cfg(feature = "mcp")]
pub(super) const MCP_ABOUT: &str = "\
Serve the memory to a host of the Model Context Protocol, over standard input and output.

The host starts it, one process for each of its sessions; as many as you like may use one store at once. Without --dir, --home \
or $MEMDIR_DIR the store is $XDG_DATA_HOME/memdir, else ~/.local/share/memdir, as hosts choose the working directory. A store \
that is missing is made.

Half a minute after it began, and then daily, it removes what `memdir prune` would, without asking. All of it can be restored.";

#[cfg(feature = "mcp")]
pub(super) const MCP_EXAMPLES: &str = "\
Examples:
  memdir mcp
  memdir mcp --dir ~/agents/planner/memory
  claude mcp add --scope user memdir -- memdir mcp";

#[cfg(feature = "mcp")]
pub(super) const HOOK_ABOUT: &str = "\
Run by the host of a coding agent at the turns of a session, with the host's JSON on standard input.

`session-start` prints what is known as the JSON that Claude Code adds to the context of a session; nothing where nothing is \
known. `pre-compact` notes the end of the conversation, before it is summed up, in /memories/sessions, a file for each \
session: texts, a line for each tool call, no secrets, and nothing twice. The store is that of `memdir mcp`.

A hook is over within two seconds, and never ends with exit code 2, which hosts take for \"block\".";

#[cfg(feature = "mcp")]
pub(super) const HOOK_EXAMPLES: &str = "\
Examples:
  memdir hook session-start --budget 1000
  memdir hook pre-compact

For Claude Code, in ~/.claude/settings.json:
  {\"hooks\": {
    \"SessionStart\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"memdir hook session-start\"}]}],
    \"PreCompact\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"memdir hook pre-compact\"}]}]
  }}";

pub(super) const CALL_ABOUT: &str = "\
Answer calls of the memory tools, as a model makes them.

A call is a `tool_use` block, or only its input (its fields tell the tool), or a whole assistant message (all its calls are \
answered, in one user message). With JSON as argument one call is answered, and the exit code is 1 if the answer is an error. Without it, calls \
are read from standard input, one JSON per line, and each is answered with one line on standard output, at once; a line \
that cannot be answered gets an error as its answer, and the next one goes on. Blank lines are skipped. The exit code is then 0.

The store is made if it is missing.";

pub(super) const CALL_EXAMPLES: &str = "\
Examples:
  memdir call '{\"command\":\"view\",\"path\":\"/memories\"}'
  memdir call --dir ./memory --actor planner < calls.jsonl";

#[cfg(feature = "http")]
pub(super) const DOUBLE_ABOUT: &str = "\
Stand in for the Messages API on a port: refuse what it refuses, say what a script says.

It has no model, and needs no key. Requests are judged as the API judges them, in its words where they are known: their fields, calls of tools and their \
results, thinking that was altered, the window. Thinking that the real API signed is refused, unless it came through a script or a recording \
(in Rust, `Double::signed` signs a history anew). A model that is not known is answered, and told of on standard error. \
Tokens are estimated, about four characters each, those of the prompt cache too.

What is said comes from --script, a line for each reply; without one, it repeats what it was told last. --record writes what it says \
itself: it is no proxy to the real API. A file that is there is added to; remove it to begin anew.

When it listens, it prints its base URL on standard output, one line; a line on standard error for each request says what became of it, \
and nothing of what its messages hold. SIGINT and SIGTERM end it, with exit code 0.";

#[cfg(feature = "http")]
pub(super) fn double_examples() -> String {
    let examples = "\
Examples:
  memdir double
  memdir double --listen 127.0.0.1:0 --script replies.jsonl --record session.jsonl
  memdir double --key test-key --window 20000 --quiet

Python:       anthropic.Anthropic(base_url=\"http://127.0.0.1:8089\", api_key=\"any\")
TypeScript:   new Anthropic({ baseURL: 'http://127.0.0.1:8089', apiKey: 'any' })
Claude Code:  ANTHROPIC_BASE_URL=http://127.0.0.1:8089 ANTHROPIC_API_KEY=any claude
Others:       ANTHROPIC_BASE_URL; paths are those of the API, /v1/messages and so on

";
    format!("{examples}{}", crate::double::Script::FORMAT.trim_end())
}
