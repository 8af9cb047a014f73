// The official TypeScript client against `memdir double`: node double.mjs MODULES MEMDIR [WORD]
//
// One stand-in is asked by all checks; with WORD, those run whose names have it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const [modules, memdir, word = ''] = process.argv.slice(2);
const sdk = (file) => import(pathToFileURL(join(resolve(modules), '@anthropic-ai/sdk', file)));
const { default: Anthropic, ...errors } = await sdk('index.mjs');
const { betaTool } = await sdk('helpers/beta/json-schema.mjs');
const { BetaLocalFilesystemMemoryTool, betaMemoryTool } = await sdk('tools/memory/node.mjs');

const KEY = 'test-key';
const MODEL = 'claude-opus-5-5';
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const WEATHER = { name: 'weather', description: 'The weather of a city', input_schema: SCHEMA };

const rule = (when, reply, more = {}) => ({ when, reply, ...more });
const uses = (name, input) => ({ tool_use: { name, input } });
const tea = '/memories/tea.md';
const SCRIPT = [
  rule({ result: 'sunny' }, { text: 'It is sunny.' }),
  rule({ result: 'created' }, uses('memory', { command: 'view', path: tea })),
  rule({ result: 'Green.' }, { text: 'It says green.' }),
  rule({ last: '2 + 2' }, { text: 'Four.' }),
  rule({ last: 'number' }, { text: 'You said: {last}' }),
  rule({ last: 'weather' }, { thinking: 'Look it up.', text: 'One moment.', ...uses('weather', { city: 'Rome' }) }),
  rule({ last: 'tea' }, { thinking: 'Green or black? Green.', text: 'Green.' }),
  rule({ last: 'none left' }, { text: 'Then black.' }),
  rule({ last: 'hurry' }, { error: { status: 429, retry_after: 1 } }, { times: 1 }),
  rule({ last: 'hurry' }, { text: 'There.' }),
  rule({ last: 'limit' }, { error: { status: 429, retry_after: 7 } }),
  rule({ last: 'overload' }, { error: { type: 'overloaded_error' } }),
  rule({ last: 'break' }, { text: 'This goes on for a while, and then it does not.', breaks_after: 3 }),
  rule({ last: 'remember', turn: 0 }, uses('memory', { command: 'create', path: tea, file_text: 'Green.\n' })),
];

const base = mkdtempSync(join(tmpdir(), 'memdir-double-'));
const script = join(base, 'script.jsonl');
writeFileSync(script, SCRIPT.map((line) => JSON.stringify(line) + '\n').join(''));
const options = ['double', '--listen', '127.0.0.1:0', '--key', KEY, '--script', script, '--quiet'];
const server = spawn(memdir, options, { stdio: ['ignore', 'pipe', 'inherit'] });
const [baseURL] = await once(createInterface({ input: server.stdout }), 'line');

const client = (more = {}) => new Anthropic({ baseURL, apiKey: KEY, maxRetries: 0, timeout: 60_000, ...more });
const user = (content) => ({ role: 'user', content });
const said = ({ content }) => ({ role: 'assistant', content });
const ask = (messages, more = {}) => ({
  model: 'claude-opus-5',
  max_tokens: 1024,
  messages: [messages].flat().map((message) => (typeof message === 'string' ? user(message) : message)),
  ...more,
});
const kinds = ({ content }) => content.map(({ type }) => type);

async function refused(kind, words, request) {
  const error = await request.then(
    (answer) => assert.fail(`it is answered: ${JSON.stringify(answer)}`),
    (error) => error,
  );
  assert.equal(error.constructor.name, kind, String(error));
  assert.ok(error.error.error.message.includes(words), String(error));
  assert.equal(error.requestID, error.error.request_id);
  return error;
}

const CHECKS = {
  async a_message_is_answered() {
    const message = await client().messages.create(ask('2 + 2?'));
    assert.deepEqual([message.content[0].text, message.stop_reason], ['Four.', 'end_turn']);
    assert.match(message._request_id, /^req_/);
  },

  async a_stream_adds_up() {
    const request = ask('What is the weather?', { model: MODEL, tools: [WEATHER], thinking: { type: 'adaptive' } });
    for (const api of [client().messages, client().beta.messages]) {
      const stream = api.stream(request);
      let text = '';
      stream.on('text', (piece) => (text += piece));
      const message = await stream.finalMessage();
      const whole = await api.create(request);
      assert.deepEqual(kinds(message), ['thinking', 'text', 'tool_use']);
      assert.deepEqual([text, message.content[0].thinking], ['One moment.', 'Look it up.']);
      assert.deepEqual([message.content[2].input, message.stop_reason], [{ city: 'Rome' }, 'tool_use']);
      assert.equal(message.content[0].signature, whole.content[0].signature);
      assert.equal(message.usage.output_tokens, whole.usage.output_tokens);
    }
  },

  async the_tool_runner_runs() {
    const cities = [];
    const run = ({ city }) => (cities.push(city), 'sunny');
    const weather = betaTool({ name: 'weather', description: 'The weather of a city', inputSchema: SCHEMA, run });
    const message = await client().beta.messages.toolRunner(ask('What is the weather?', { tools: [weather] }));
    assert.equal(message.content.at(-1).text, 'It is sunny.');
    const streaming = ask('What is the weather?', { model: MODEL, tools: [weather], stream: true });
    const reasons = [];
    for await (const stream of client().beta.messages.toolRunner(streaming)) {
      reasons.push((await stream.finalMessage()).stop_reason);
    }
    assert.deepEqual([reasons, cities], [['tool_use', 'end_turn'], ['Rome', 'Rome']]);
  },

  async the_memory_tool_runs() {
    const memory = betaMemoryTool(await BetaLocalFilesystemMemoryTool.init(join(base, 'memory')));
    const message = await client().beta.messages.toolRunner(ask('Please remember: green.', { tools: [memory] }));
    assert.equal(message.content.at(-1).text, 'It says green.');
    assert.equal(readFileSync(join(base, 'memory', tea), 'utf8'), 'Green.\n');
  },

  async tokens_are_counted_and_models_listed() {
    const { max_tokens, ...request } = ask('2 + 2?', { system: 'Be short.', tools: [WEATHER] });
    const { usage } = await client().messages.create({ ...request, max_tokens });
    assert.equal((await client().messages.countTokens(request)).input_tokens, usage.input_tokens);
    const models = [];
    for await (const { id } of client().models.list({ limit: 2 })) models.push(id);
    assert.ok(models.includes(MODEL) && models.length > 2, models.join());
    await refused('NotFoundError', 'nothing-5', client().models.retrieve('nothing-5'));
  },

  async each_error_has_its_class() {
    const make = (text, more) => client(more).messages.create(ask(text));
    await refused('BadRequestError', 'at least one message is required', make([]));
    await refused('AuthenticationError', 'nvalid', make('a', { apiKey: 'no' }));
    await refused('PermissionDeniedError', 'page', make('a', { defaultHeaders: { origin: 'http://example.com' } }));
    await refused('NotFoundError', 'Not', client().get('/v1/none'));
    const limited = await refused('RateLimitError', '', make('limit'));
    assert.equal(limited.headers.get('retry-after'), '7');
    for (const [text, status, type] of [
      ['overload', 529, 'overloaded_error'],
      ['a'.repeat(33 << 20), 413, 'request_too_large'],
    ]) {
      const error = await make(text).catch((error) => error);
      assert.ok(error instanceof errors.APIError, String(error));
      assert.deepEqual([error.status, error.error.error.type], [status, type]);
    }
  },

  async who_is_told_to_wait_comes_back() {
    const began = performance.now();
    const message = await client({ maxRetries: 2 }).messages.create(ask('hurry'));
    assert.equal(message.content[0].text, 'There.');
    assert.ok(performance.now() - began >= 990, 'it did not wait');
  },

  async thinking_comes_back_as_it_was_or_not_at_all() {
    const thinking = { type: 'adaptive' };
    const make = (request) => client().messages.create(request);
    const conversation = async () => {
      const answer = await make(ask('Which tea?', { model: MODEL, thinking }));
      assert.deepEqual(kinds(answer), ['thinking', 'text']);
      return ask(['Which tea?', said(answer), 'There is none left.'], { model: MODEL, thinking: { ...thinking } });
    };
    assert.equal((await make(await conversation())).content.at(-1).text, 'Then black.');
    const altered = await conversation();
    altered.messages[1].content[0].thinking = 'Black.';
    await refused('BadRequestError', 'Invalid `signature` in `thinking` block', make(altered));
    const moved = await conversation();
    moved.messages[0] = user('Which coffee?');
    await refused('BadRequestError', 'bound to a different conversation', make(moved));
    moved.thinking.block_binding = { prefix_mismatch_behavior: 'drop_block' };
    moved.betas = ['thinking-binding-controls-2026-08-01'];
    const { input_transformations } = await client().beta.messages.create(moved);
    const dropped = { type: 'thinking_dropped', path: 'messages.1.content.0', reason: 'prefix_binding_mismatch' };
    assert.deepEqual(input_transformations, [dropped]);
  },

  async a_result_needs_its_call() {
    const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'sunny' };
    const words = 'messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1';
    await refused('BadRequestError', words, client().messages.create(ask(user([result]))));
  },

  async a_stream_that_breaks_is_an_error() {
    const stream = client().messages.stream(ask('break'));
    await assert.rejects(stream.finalMessage(), (error) => error instanceof errors.AnthropicError);
  },

  async many_ask_at_once() {
    const numbers = [...Array(50).keys()];
    const made = numbers.map((number) => client().messages.create(ask(`number ${number}`)));
    const streamed = numbers.map((number) => client().messages.stream(ask(`number ${number}`)).finalMessage());
    const messages = await Promise.all([...made, ...streamed]);
    const expected = numbers.map((number) => `You said: number ${number}`);
    assert.deepEqual(messages.map(({ content }) => content[0].text), [...expected, ...expected]);
  },
};

let failed = 0;
for (const [name, check] of Object.entries(CHECKS).filter(([name]) => name.includes(word))) {
  try {
    await check();
    console.log(`ok      ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n${error.stack}`);
  }
}
server.kill('SIGTERM');
const [code] = await once(server, 'exit');
assert.equal(code, 0);
rmSync(base, { recursive: true });
process.exit(failed ? 1 : 0);
