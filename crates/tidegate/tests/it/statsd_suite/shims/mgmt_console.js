// Names match when a deletion would take them.
const ask = require('./eval');

exports.existing_stats = function (stats, pattern) {
  return ask({ delete: { names: Object.keys(stats), patterns: [pattern] } }).deleted;
};

exports.delete_stats = function (stats, patterns, stream) {
  const done = ask({ delete: { names: Object.keys(stats), patterns } });
  done.deleted.forEach((name) => delete stats[name]);
  stream.write(done.answer);
};
