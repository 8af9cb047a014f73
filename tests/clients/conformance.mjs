// The official conformance scenarios against `memdir mcp`: node conformance.mjs MODULES MEMDIR REVISION [SCENARIO]
//
// The scenarios speak Streamable HTTP, so this is a bridge: each session is a process, and so is each request outside of
// one, which is all of them from 2026-07-28 on. Many scenarios ask for what only the reference server has; where memdir
// has the like, the bridge asks for that. conformance-REVISION.yml names what cannot pass, and may only shrink.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const [modules, memdir, revision, scenario] = process.argv.slice(2);
const work = mkdtempSync(join(tmpdir(), 'memdir-conformance-'));
const store = join(work, 'store');
const sessions = new Map();

const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
mkdirSync(join(store, 'memories'), { recursive: true });
writeFileSync(join(store, 'memories/123.md'), 'Note 123\n');
writeFileSync(join(store, 'memories/picture.png'), Buffer.from(PICTURE, 'base64'));

const view = (path) => ({ name: 'memory', arguments: { command: 'view', path } });
const resource = (name) => ({ uri: `memory:///memories/${name}` });
const STAND_INS = {
  test_simple_text: view('/memories'),
  test_image_content: view('/memories/picture.png'),
  test_error_handling: view('/memories/missing.md'),
  test_simple_prompt: { name: 'memory_consolidate' },
  'test://static-text': resource('123.md'),
  'test://static-binary': resource('picture.png'),
  'test://template/123/data': resource('123.md'),
  'test://watched-resource': resource('123.md'),
};

/** The status that goes with an error, by its code. */
const STATUS = { '-32601': 404, '-32602': 400, '-32020': 400, '-32021': 400, '-32022': 400 };

/** A process, and who is told what it says. */
function start() {
  const child = spawn(memdir, ['mcp', '--dir', store], { stdio: ['pipe', 'pipe', 'inherit'] });
  const server = {
    send: (message) => child.stdin.write(JSON.stringify(message) + '\n'),
    end: () => child.stdin.end(),
    waiting: new Map(),
    rest: () => {},
  };
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line);
    const { waiting, rest } = server;
    // What answers nothing belongs to the request that is open, if there is one.
    const told = message.method ? [...waiting.values()].at(-1) : waiting.get(message.id);
    (told ?? rest)(message);
  });
  return server;
}

/** Begins a stream of events, and says them. */
function stream(response, headers = {}) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store', ...headers });
  response.flushHeaders();
  return (message) => response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}

/** Sends a request, and answers with what is said until its result: as events, or as an error with its status. */
function ask(server, request, response, headers = {}) {
  let tell;
  server.waiting.set(request.id, (said) => {
    const isLast = said.method === undefined;
    if (isLast) server.waiting.delete(request.id);
    if (!tell && said.error) {
      response.writeHead(STATUS[said.error.code] ?? 200, { 'content-type': 'application/json', ...headers });
      response.write(JSON.stringify(said));
    } else {
      tell ??= stream(response, headers);
      tell(said);
    }
    if (isLast) response.end();
  });
  const { name, uri } = request.params ?? {};
  server.send({ ...request, params: request.params && { ...request.params, ...STAND_INS[name ?? uri] } });
}

async function answer(request, response) {
  const session = request.headers['mcp-session-id'];
  const known = sessions.get(session);
  if (session && !known) return response.writeHead(404).end();
  if (request.method === 'DELETE') {
    known?.end();
    sessions.delete(session);
    return response.writeHead(known ? 200 : 400).end();
  }
  if (request.method === 'GET') {
    if (!known) return response.writeHead(405).end();
    known.rest = stream(response);
    return;
  }
  const message = JSON.parse(Buffer.concat(await request.toArray()).toString());
  if (message.id === undefined || message.method === undefined) {
    known?.send(message);
    return response.writeHead(202).end();
  }
  if (known) return ask(known, message, response);
  const server = start();
  if (message.method === 'initialize') {
    const id = randomUUID();
    sessions.set(id, server);
    return ask(server, message, response, { 'mcp-session-id': id });
  }
  response.on('close', () => server.end());
  ask(server, message, response);
}

const http = createServer((request, response) => {
  answer(request, response).catch((error) => response.writeHead(400).end(String(error)));
});
http.listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${http.address().port}/mcp`;
  const args = ['server', '--url', url, '--output-dir', join(work, 'results')];
  args.push('--expected-failures', join(import.meta.dirname, `conformance-${revision}.yml`));
  if (scenario) args.push('--scenario', scenario, '--spec-version', revision, '--verbose');
  else args.push('--requirements', revision);
  const main = join(modules, '@modelcontextprotocol/conformance/dist/index.js');
  spawn(process.execPath, [main, ...args], { stdio: 'inherit' }).on('exit', (code) => {
    for (const server of sessions.values()) server.end();
    rmSync(work, { recursive: true, force: true });
    process.exit(code ?? 1);
  });
});
