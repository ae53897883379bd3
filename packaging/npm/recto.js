#!/usr/bin/env node
// Starts the program of this platform, which is in a package of its own.
"use strict";
const { spawnSync } = require("node:child_process");

const platform = `${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "recto.exe" : "recto";
let program;
try {
  program = require.resolve(`${require("./package.json").name}-${platform}/${file}`);
} catch {
  console.error(`recto: there is no program for ${platform}, or npm was told to skip optional dependencies`);
  process.exit(1);
}
const ended = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (ended.error) {
  console.error(`recto: ${ended.error.message}`);
  process.exit(1);
}
if (ended.signal) {
  process.kill(process.pid, ended.signal);
} else {
  process.exit(ended.status);
}
