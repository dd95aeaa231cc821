// Runs the HTTP cache tests of https://cache-tests.fyi against a proxy that is already running.
//
// usage: node run.mjs SUITE ORIGIN_PORT BASE [--report | --only ID]
//
// SUITE is a checkout of the suite or its npm package; both layouts are known. Its origin runs in
// this process on 127.0.0.1:ORIGIN_PORT, its client asks BASE, and its own function scores.
// stdout: one line a test, `KIND<tab>OUTCOME<tab>ID<tab>MESSAGE`; with --report, figures by kind
// and what was not passed; with --only, one test with every header that was sent.

import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const [suite, port, base, mode, only] = process.argv.slice(2)
const engine = ['test-engine', '.'].find(f => fs.existsSync(path.join(suite, f, 'cli.mjs')))
if (!base || engine === undefined) {
  console.error('usage: node run.mjs SUITE ORIGIN_PORT BASE [--report | --only ID]')
  process.exit(2)
}

const load = file => import(pathToFileURL(path.resolve(suite, file)))
const loadEngine = file => load(path.join(engine, file))
const isThere = file => fs.existsSync(path.join(suite, file))

// Outcomes by the symbol that the suite gives them.
const OUTCOMES = {
  '✅': 'pass', '⛔️': 'fail', '⚠️': 'optional-fail', Y: 'yes', N: 'no', '🔹': 'setup-fail',
  '⁉️': 'harness-fail', '⚪️': 'dependency-fail', '↻': 'retry', '-': 'untested'
}
const PASSED = ['pass', 'yes']

const print = console.log
if (mode !== '--only') console.log = () => {}

await startOrigin()
const suites = await loadSuites()
const results = await runClient(suites)
report(await score(suites, results))
process.exit(0)

async function startOrigin () {
  Object.assign(process.env, {
    npm_config_protocol: 'http', npm_config_port: port, npm_config_pidfile: '/dev/null'
  })
  const listen = net.Server.prototype.listen
  net.Server.prototype.listen = function (port) { return listen.call(this, port, '127.0.0.1') }
  await loadEngine('server/server.mjs')
}

// Tests without a kind are required; what only a CDN need know is counted apart.
async function loadSuites () {
  const suites = (await load('tests/index.mjs')).default
  for (const test of suites.flatMap(s => s.tests)) {
    test.label = (test.cdn_only ? 'cdn-' : '') + (test.kind ?? 'required')
  }
  if (isThere('tests/surrogate-control.mjs')) {
    const surrogate = (await load('tests/surrogate-control.mjs')).default
    for (const test of surrogate.tests) test.label = `surrogate-${test.kind ?? 'required'}`
    suites.push(surrogate)
  }
  return suites
}

async function runClient (suites) {
  let chosen = suites
  if (mode === '--only') {
    const test = suites.flatMap(s => s.tests).find(t => t.id === only)
    test.dump = true
    chosen = [{ tests: [test] }]
  }
  const runner = await loadEngine('client/runner.mjs')
  if (engine === '.') {
    const fetch = createRequire(path.resolve(suite, 'cli.mjs'))('node-fetch')
    await runner.runTests(chosen, fetch, false, base)
  } else {
    await runner.runTests(chosen, false, base)
  }
  return runner.getResults()
}

async function score (suites, results) {
  const scoring = engine === '.' ? 'lib/display.mjs' : 'lib/results.mjs'
  const { determineTestResult } = await loadEngine(scoring)
  return suites.flatMap(s => s.tests).filter(test => test.id in results).map(test => {
    const symbol = determineTestResult(suites, test.id, results, mode !== '--only')[2]
    const result = results[test.id]
    const message = result === true ? '' : String(result[1] ?? result[0]).replace(/\s+/g, ' ')
    return { kind: test.label, outcome: OUTCOMES[symbol], id: test.id, message }
  })
}

function report (scores) {
  const line = s => [s.kind, s.outcome, s.id, s.message].join('\t')
  if (mode !== '--report') {
    for (const s of scores) print(line(s))
    return
  }
  for (const kind of new Set(scores.map(s => s.kind))) {
    const these = scores.filter(s => s.kind === kind)
    const missed = these.filter(s => !PASSED.includes(s.outcome))
    print(`${kind}: ${these.length - missed.length} of ${these.length}`)
    // A check asks how a cache behaves; neither answer is wrong.
    if (!kind.endsWith('check')) for (const s of missed) print('  ' + line(s))
  }
}
