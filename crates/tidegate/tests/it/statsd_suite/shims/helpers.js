// A packet is valid when a line of it is a sample.
const ask = require('./eval');

exports.is_valid_packet = function (fields) {
  const line = 'key:' + fields.filter((field) => field !== undefined).join('|');
  const read = ask({ lines: line }).lines[0];
  return read.bad === undefined && read.samples.length === 1;
};
