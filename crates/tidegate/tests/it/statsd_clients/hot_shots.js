// Sends every type that npm hot-shots has: hot_shots.js MODULES PORT SOCKET WAY...
const net = require('net');
const [, , modules, port, socket, ...wanted] = process.argv;
const StatsD = require(`${modules}/hot-shots`);

// Of every two samples exactly the first is sent.
let turn = 0;
Math.random = () => (turn++ % 2 ? 0.75 : 0.25);
const time = new Date(1700000000000);

function send(client, rate, title, text) {
  for (let i = 0; i < 80; i += 1) client.increment('hits');
  client.increment('hits', 15);
  client.increment('hits', 5, { timestamp: time });
  for (let i = 0; i < 10; i += 1) client.decrement('hits');
  for (let i = 0; i < 100; i += 1) client.increment('sampled', 1, rate);
  client.increment(['listed', 'listed.too'], 100);
  client.gauge('level', 10);
  client.gaugeDelta('level', 5);
  client.gaugeDelta('level', -3);
  client.gauge('below', -4);
  client.gauge('dated', 3, { timestamp: time });
  for (let i = 1; i <= 10; i += 1) {
    client.timing('took', i);
    client.histogram('size', i);
    client.distribution('spread', i);
    client.timing('took_sampled', 8, rate);
    client.set('users', `u${i}`);
    client.unique('users', `u${i}`);
  }
  client.increment('tagged', 5, { team: 'a', env: 'prod', canary: 'true' });
  client.event(title, text, {
    alert_type: 'error', aggregation_key: 'k', source_type_name: 's', date_happened: time,
    priority: 'low', hostname: 'h',
  }, ['a:1', 'b']);
  client.check('db.up', client.CHECKS.CRITICAL, {
    date_happened: time, hostname: 'h', message: 'gone away|far',
  }, ['a:1', 'b']);
  client.increment('done');
}

const udp = { host: '127.0.0.1', port: Number(port) };
const sender = { datadog: true, containerID: 'abc', cardinality: 'low' };
const ways = {
  udp: () => udp,
  udp6: () => ({ ...udp, host: '::1', udpSocketOptions: { type: 'udp6' } }),
  tcp: () => ({ ...udp, protocol: 'tcp' }),
  stream: () => ({ protocol: 'stream', stream: net.connect(socket) }),
  sender: () => ({ ...udp, ...sender }),
  buffered: () => ({ ...udp, maxBufferSize: 1432 }),
  aggregated: () => ({ ...udp, maxBufferSize: 1432, aggregation: true }),
};

(async () => {
  for (const way of wanted) {
    const errorHandler = (error) => { throw error; };
    const client = new StatsD({ prefix: `${way}.`, errorHandler, ...ways[way]() });
    // Its TCP transport cuts each letter to its lowest byte.
    const texts = way === 'tcp' ? ['a|b', 'c\nd|e'] : ['Köln: ü|🌊', 'Flut\nund|Ebbe 🌊'];
    send(client, 0.5, ...texts);
    await new Promise((done) => { client.close(done); });
  }
})();
