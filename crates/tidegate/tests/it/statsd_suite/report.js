// Runs one file of tests with nodeunit, and says in one line what passed: `passed: TESTS ASSERTIONS`.
const path = require('path');
const nodeunit = require(process.argv[2]);

let tests = 0;
nodeunit.runFiles([path.resolve(process.argv[3])], {
  testDone(name, assertions) {
    tests += assertions.failures() ? 0 : 1;
    const failed = assertions.filter((assertion) => assertion.failed());
    failed.forEach((assertion) => console.error(`${name}: ${assertion.error.stack}`));
  },
  done(assertions) {
    if (assertions.failures() === 0) console.log(`passed: ${tests} ${assertions.length}`);
  },
});
