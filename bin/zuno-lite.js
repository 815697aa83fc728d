#!/usr/bin/env node
'use strict';
const { main } = require('../dist/cli.cjs');

main(process.argv.slice(2), require('node:path').dirname(__dirname)).then((status) => { process.exitCode = status; });
