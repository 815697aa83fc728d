// A real authorization server (oidc-provider) and a protected MCP server beside it, on one port. With `pages`, a person signs in on pages of
// its own; without, everybody who comes is let in. The MCP server takes only tokens that were issued for its own address.
import { once } from 'node:events';
import http from 'node:http';
import { generateKeyPairSync } from 'node:crypto';

// It reminds of what matters in production at every start.
const { warn, info } = console;
const sparing = (say) => (text, ...more) => { if (!String(text).startsWith('oidc-provider ')) say(text, ...more); };
Object.assign(console, { warn: sparing(warn), info: sparing(info) });
const { default: Provider, errors } = await import('oidc-provider');

const ACCOUNT = 'ann';

/** Documents that clients publish about themselves, by their URL: they are asked for through the provider's own fetch, and never leave the machine. */
export const documents = new Map();

export async function startService({ clients = [], pages = false, scopes = ['read', 'write'], refreshTokenTtl = 3600 } = {}) {
  const server = http.createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${server.address().port}`, resource = `${origin}/mcp`;
  const tokens = new Set(), refused = new Set(), events = [];
  const asked = [];

  const provider = new Provider(origin, {
    clients, jwks: { keys: [{ ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }), use: 'sig', kid: 'k' }] },
    cookies: { keys: ['only for tests'] }, scopes: ['openid', 'offline_access', ...scopes],
    pkce: { required: () => true }, rotateRefreshToken: true, issueRefreshToken: (_context, client) => client.grantTypeAllowed('refresh_token'),
    ttl: { AccessToken: 600, ClientCredentials: 600, AuthorizationCode: 60, RefreshToken: refreshTokenTtl, Grant: 3600, Session: 3600, Interaction: 600, DeviceCode: 300, IdToken: 600 },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    async fetch(url) {
      const document = documents.get(String(url));
      return document === undefined ? new Response('', { status: 404 }) : Response.json(document);
    },
    features: {
      devInteractions: { enabled: false }, registration: { enabled: true }, deviceFlow: { enabled: true }, revocation: { enabled: true }, introspection: { enabled: true }, clientCredentials: { enabled: true },
      dPoP: { enabled: true }, clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
      resourceIndicators: {
        enabled: true, useGrantedResource: () => true, defaultResource: () => resource,
        getResourceServerInfo(_context, indicator) {
          if (indicator !== resource) throw new errors.InvalidTarget();
          return { scope: scopes.join(' '), audience: resource, accessTokenFormat: 'opaque', accessTokenTTL: 600 };
        },
      },
    },
    async loadExistingGrant({ oidc }) {
      const grant = new provider.Grant({ accountId: oidc.session.accountId, clientId: oidc.client.clientId });
      grant.addOIDCScope(['openid', 'offline_access', ...scopes].join(' '));
      grant.addResourceScope(resource, scopes.join(' '));
      await grant.save();
      return grant;
    },
  });
  for (const event of ['registration_create.success', 'authorization.success', 'grant.success', 'grant.error', 'revocation.success', 'grant.revoked', 'server_error']) {
    provider.on(event, (context, ...more) => events.push({ event, grant: context?.oidc?.params?.grant_type, error: more.find((one) => one instanceof Error) ?? (context instanceof Error ? context : undefined), method: context?.oidc?.client?.tokenEndpointAuthMethod }));
  }
  const authorization = provider.callback();

  server.on('request', (request, response) => {
    const { pathname } = new URL(request.url, origin);
    asked.push(`${request.method} ${pathname}`);
    if (pathname === '/mcp') void mcp(request, response);
    else if (pathname === '/.well-known/oauth-protected-resource/mcp') json(response, 200, { resource, authorization_servers: [origin], scopes_supported: [scopes[0]], bearer_methods_supported: ['header'] });
    else if (pathname.startsWith('/interaction/')) interaction(request, response).catch((error) => { response.writeHead(500).end(String(error)); });
    else authorization(request, response);
  });

  async function interaction(request, response) {
    const { prompt } = await provider.interactionDetails(request, response);
    if (pages && request.method !== 'POST') { response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(prompt.name === 'login' ? loginPage : consentPage); return; }
    if (pages && prompt.name === 'login') {
      const form = new URLSearchParams(await bodyOf(request));
      if (form.get('name') !== ACCOUNT || form.get('password') !== 'open sesame') { response.writeHead(403).end('no'); return; }
    }
    if (pages && prompt.name === 'consent' && new URLSearchParams(await bodyOf(request)).get('answer') === 'no') {
      await provider.interactionFinished(request, response, { error: 'access_denied', error_description: 'Ann said no' }, { mergeWithLastSubmission: false });
      return;
    }
    // Programs on people's own machines are always asked for consent.
    await provider.interactionFinished(request, response, prompt.name === 'login' ? { login: { accountId: ACCOUNT } } : { consent: {} }, { mergeWithLastSubmission: true });
  }

  async function grantOf(request) {
    const [scheme, value = ''] = (request.headers.authorization ?? '').split(' ');
    if (!/^(bearer|dpop)$/i.test(scheme)) return undefined;
    const token = await provider.AccessToken.find(value) ?? await provider.ClientCredentials.find(value);
    const audiences = [token?.aud ?? []].flat();
    if (token === undefined || !token.isValid || refused.has(value) || !audiences.includes(resource)) return undefined;
    if (token.jkt !== undefined && (!/^dpop$/i.test(scheme) || request.headers.dpop === undefined)) return undefined;
    tokens.add(value);
    return token;
  }

  async function mcp(request, response) {
    const message = JSON.parse(await bodyOf(request) || '{}');
    const token = await grantOf(request);
    if (token === undefined) {
      response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"` }).end();
      return;
    }
    if (request.method !== 'POST') { response.writeHead(405).end(); return; }
    if (message.id === undefined) { response.writeHead(202).end(); return; }
    const result = {
      initialize: () => ({ protocolVersion: message.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'guarded', version: '1' } }),
      'tools/list': () => ({ tools: [{ name: 'whoami', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }] }),
      'tools/call': () => ({ content: [{ type: 'text', text: `${token.accountId ?? token.clientId} with ${token.scope ?? 'no scope'}` }] }),
    }[message.method]?.();
    json(response, 200, { jsonrpc: '2.0', id: message.id, ...(result === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result }) });
  }

  return {
    origin, url: resource, provider, events, asked,
    count: (event, grant) => events.filter((one) => one.event === event && (grant === undefined || one.grant === grant)).length,
    /** Access tokens that were used so far stop working; refresh tokens live on. */
    expireAccess() { for (const one of tokens) refused.add(one); },
    close: () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); }),
  };
}

const form = (title, fields, buttons) => `<!doctype html><html lang="en"><title>${title}</title><h1>${title}</h1><form method="post">${fields}${buttons}</form></html>`;
const loginPage = form('Sign in', '<input name="name" autofocus><input name="password" type="password">', '<button>Sign in</button>');
const consentPage = form('Allow access?', '', '<button name="answer" value="yes">Allow</button><button name="answer" value="no">Deny</button>');

function json(response, status, value) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
