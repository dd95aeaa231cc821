// Members are those of a set that a flush shows.
const ask = require('./eval');

exports.Set = class {
  constructor() { this.clear(); }
  clear() { this.lines = ''; }
  insert(member) { this.lines += `key:${member}|s\n`; }
  values() { return ask({ lines: this.lines }).flush.sets.key || []; }
  has(member) { return this.values().includes(member); }
  size() { return this.values().length; }
};
