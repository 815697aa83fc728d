/** Every command on one screen. A row costs nothing until its command is run: the module behind it is loaded then. */
import type { CommandRow } from '../command.ts';

export const commandRows: readonly CommandRow[] = [
  { words: ['mcp', 'add'], group: 'Servers', summary: 'register a server: a local command or a URL', load: () => import('./mcp-add.ts') },
  { words: ['mcp', 'add-json'], group: 'Servers', summary: 'register a server from a JSON snippet', load: () => import('./mcp-add-json.ts') },
  { words: ['mcp', 'list'], aliases: [['mcp', 'ls']], group: 'Servers', summary: 'the configured servers and how they are', load: () => import('./mcp-list.ts') },
  { words: ['mcp', 'get'], aliases: [['mcp', 'show']], group: 'Servers', summary: 'one entry of the configuration, secrets masked', load: () => import('./mcp-get.ts') },
  { words: ['mcp', 'remove'], aliases: [['mcp', 'rm'], ['mcp', 'delete']], group: 'Servers', summary: 'take a server out of the configuration', load: () => import('./mcp-remove.ts') },
  { words: ['mcp', 'enable'], group: 'Servers', summary: 'switch a server on', load: () => import('./mcp-enable.ts') },
  { words: ['mcp', 'disable'], group: 'Servers', summary: 'switch a server off and keep its entry', load: () => import('./mcp-disable.ts') },
  { words: ['mcp', 'set'], group: 'Servers', summary: 'change keys of a server, in place', load: () => import('./mcp-set.ts') },
  { words: ['mcp', 'import'], group: 'Servers', summary: 'take servers over from another program', load: () => import('./mcp-import.ts') },
  { words: ['mcp', 'auth'], aliases: [['mcp', 'login']], group: 'Servers', summary: 'sign in to a server', load: () => import('./mcp-auth.ts') },
  { words: ['mcp', 'auth', 'list'], aliases: [['mcp', 'auth', 'ls']], group: 'Servers', summary: 'where you are signed in', load: () => import('./mcp-auth-list.ts') },
  { words: ['mcp', 'logout'], aliases: [['mcp', 'auth', 'logout']], group: 'Servers', summary: 'sign out of a server', load: () => import('./mcp-logout.ts') },
  { words: ['mcp', 'debug'], group: 'Servers', summary: 'probe one server stage by stage', load: () => import('./mcp-debug.ts') },
  { words: ['tools'], group: 'Using them', summary: 'the tools that may be used, as signatures', load: () => import('./tools.ts') },
  { words: ['call'], group: 'Using them', summary: 'call one tool', load: () => import('./call.ts') },
  { words: ['resources'], group: 'Using them', summary: 'the resources and resource templates of the servers', load: () => import('./resources.ts') },
  { words: ['read'], group: 'Using them', summary: 'read one resource', load: () => import('./read.ts') },
  { words: ['prompts'], group: 'Using them', summary: 'the prompts of the servers', load: () => import('./prompts.ts') },
  { words: ['prompt'], group: 'Using them', summary: 'fill in one prompt and show its messages', load: () => import('./prompt.ts') },
  { words: ['debug', 'config'], group: 'More', summary: 'the merged configuration, each value with its place', load: () => import('./debug-config.ts') },
  { words: ['debug', 'paths'], group: 'More', summary: 'where everything is kept and looked for', load: () => import('./debug-paths.ts') },
  { words: ['trust'], group: 'More', summary: 'admit one project file exactly as it is', load: () => import('./trust.ts') },
  { words: ['doctor'], group: 'More', summary: 'what is wrong on this machine, and how to mend it', load: () => import('./doctor.ts') },
  { words: ['demo'], group: 'More', summary: 'see it all work with the server that comes along', load: () => import('./demo.ts') },
];
