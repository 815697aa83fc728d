/**
 * The client under the official conformance suite: plain uses of the public library. The suite gives the server's URL as the
 * last argument and names the scenario in the environment; the revision it runs for is never looked at.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { connect, Failure, type Answers, type Client, type OAuthConfig } from '../../dist/client.js';

const url = process.argv.at(-1)!;
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as Record<string, string> & { toolCalls?: { name: string; arguments: Record<string, unknown> }[] };

type Steps = (client: Client) => Promise<void>;
interface Script { readonly answers?: Answers; readonly steps: Steps }

const listOnly: Steps = async (client) => { await client.listTools(); };

const skills: Answers = { extensions: { 'io.modelcontextprotocol/skills': {} } };
/** Reads a skill's SKILL.md, and another file of it only if the first is what its entry promised. */
const readSkill: Script = {
  answers: skills,
  async steps(client) {
    const skill = (await client.listSkills()).items.find((one) => one.frontmatter.name === 'pdf-processing')!;
    await client.readSkillFile(skill, skill.uri);
    await client.readSkillFile(skill, skill.uri.replace('SKILL.md', 'references/FORMS.md'));
  },
};

const scripts: Readonly<Record<string, Script>> = {
  initialize: { steps: listOnly },
  tools_call: { async steps(client) { await client.listTools(); await client.callTool('add_numbers', { a: 5, b: 3 }); } },
  'elicitation-sep1034-client-defaults': {
    // An empty answer: filling the schema's defaults is the library's part.
    answers: { elicit: async () => ({ action: 'accept', content: {} }) },
    async steps(client) { await client.listTools(); await client.callTool('test_client_elicitation_defaults', {}); },
  },
  'sse-retry': { async steps(client) { await client.listTools(); await client.callTool('test_reconnection', {}); } },
  'request-metadata': {
    answers: { elicit: async () => ({ action: 'decline' }), roots: () => [], sample: async () => ({ role: 'assistant', content: { type: 'text', text: '' }, model: 'none' }) },
    steps: listOnly,
  },
  'sep-2322-client-request-state': {
    answers: { elicit: async () => ({ action: 'accept', content: { confirmed: true } }) },
    async steps(client) {
      await client.listTools();
      for (const tool of ['test_mrtr_echo_state', 'test_mrtr_no_state', 'test_mrtr_unrelated', 'test_mrtr_no_result_type']) await client.callTool(tool, {});
    },
  },
  'http-standard-headers': {
    async steps(client) {
      const [tool] = (await client.listTools()).items;
      if (tool !== undefined) await client.callTool(tool.name, {});
      const [resource] = (await client.listResources()).items;
      if (resource !== undefined) await client.readResource(resource.uri);
      const [prompt] = (await client.listPrompts()).items;
      if (prompt !== undefined) await client.getPrompt(prompt.name, {});
    },
  },
  'http-custom-headers': {
    async steps(client) {
      await client.listTools();
      for (const call of context.toolCalls ?? []) await client.callTool(call.name, call.arguments);
    },
  },
  'http-invalid-tool-headers': {
    async steps(client) {
      for (const tool of (await client.listTools()).items) await client.callTool(tool.name, { region: 'us-west1' });
    },
  },
  'json-schema-ref-no-deref': { steps: listOnly },
  'json-schema-2020-12-preservation': {
    async steps(client) {
      const tool = (await client.listTools()).items.find((one) => one.name === 'json_schema_2020_12_tool');
      await client.callTool('json_schema_echo', { schema: tool?.inputSchema });
    },
  },
  'sep-2640-client-no-prefetch': { answers: skills, async steps(client) { await client.listSkills(); } },
  'sep-2640-client-verify-digest': readSkill,
  'sep-2640-client-verify-size': readSkill,
  'sep-2640-client-verify-frontmatter': readSkill,
};

// ---- signing in

/** Written as in a configuration, from what somebody would have been given beforehand. */
const given: Readonly<Record<string, () => OAuthConfig>> = {
  'auth/pre-registration': () => ({ clientId: context['client_id']!, clientSecret: context['client_secret']! }),
  'auth/client-credentials-basic': () => ({ type: 'client_credentials', clientId: context['client_id']!, clientSecret: context['client_secret']! }),
  'auth/client-credentials-jwt': () => ({ type: 'client_credentials', clientId: context['client_id']!, privateKey: context['private_key_pem']! }),
  'auth/wif-jwt-bearer': () => ({ type: 'workload_jwt', clientId: context['client_id']!, assertion: context['valid_jwt']! }),
  'auth/enterprise-managed-authorization': () => ({
    type: 'enterprise_managed', clientId: context['client_id']!, clientSecret: context['client_secret']!,
    identityProvider: { tokenEndpoint: context['idp_token_endpoint']!, clientId: context['idp_client_id']!, subjectToken: context['idp_id_token']! },
  }),
  // A server older than metadata: its endpoints are guessed only where somebody says so.
  'auth/2025-03-26-oauth-endpoint-fallback': () => ({ legacyDefaultEndpoints: true }),
};

/** The person and the browser: consents at once, and ends where the authorization server sends it. */
async function consent({ url: page }: { readonly url: string }): Promise<string | undefined> {
  return (await fetch(page, { redirect: 'manual' })).headers.get('location') ?? undefined;
}

/** Scenarios run side by side, each with a callback port of its own. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}

const oauth = scenario.startsWith('auth/') ? {
  config: { callbackPort: await freePort(), clientMetadataUrl: 'https://conformance-test.local/client-metadata.json', ...given[scenario]?.() },
  interaction: { mode: 'surface' as const, visit: consent },
} : undefined;

/** Grants without a person are asked for a list, the others also for a call, which may need more than the list. */
const useIt: Steps = async (client) => {
  await client.listTools();
  if (given[scenario]?.().type === undefined) await client.callTool('test-tool', {});
};

const { answers, steps } = scripts[scenario] ?? { steps: oauth === undefined ? listOnly : useIt };
try {
  const client = await connect({ type: 'http', url, oauth }, { ...(answers === undefined ? {} : { answers }), requestMs: 15_000 });
  try {
    await steps(client);
  } finally {
    await client.close();
  }
} catch (error) {
  console.error(error instanceof Failure ? `${error.code} [${error.stage}] ${error.message}` : error);
  process.exitCode = 1;
}
