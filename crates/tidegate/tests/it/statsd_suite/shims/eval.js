// Asks `tidegate statsd eval`, which stands in for statsd's own functions in its unit tests.
const { execFileSync } = require('child_process');

module.exports = function (request) {
  const args = ['statsd', 'eval', '--compat', 'statsd', '--json'];
  return JSON.parse(execFileSync(process.env.TIDEGATE, args, { input: JSON.stringify(request) }));
};
