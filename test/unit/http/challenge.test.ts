import { test } from 'node:test';
import assert from 'node:assert/strict';
import { challengeParam, challengeParams, parseChallenges } from '../../../src/http/challenge.ts';

/** `scheme`, `scheme token68` or `scheme name=value|name=value`. */
function spelled(header: string | readonly string[] | null | undefined): string[] {
  return parseChallenges(header).map(({ scheme, token68, params }) => [scheme, token68 ?? params.map(([name, value]) => `${name}=${value}`).join('|')].filter((part) => part !== '').join(' '));
}

const vectors: readonly (readonly [name: string, header: string | readonly string[] | null | undefined, challenges: readonly string[]])[] = [
  ['nothing', '', []],
  ['no header', null, []],
  ['an absent header', undefined, []],
  ['blanks and commas only', ' , ,\t', []],
  ['a bare scheme', 'Negotiate', ['negotiate']],
  ['a scheme in any case', 'bEaReR', ['bearer']],
  ['a scheme with a trailing blank', 'Bearer ', ['bearer']],
  ['two bare schemes', 'Negotiate, NTLM', ['negotiate', 'ntlm']],
  ['bare schemes between empty elements', ',, Negotiate ,, NTLM ,', ['negotiate', 'ntlm']],
  ['a quoted parameter', 'Basic realm="simple"', ['basic realm=simple']],
  ['a token parameter', 'Basic realm=simple', ['basic realm=simple']],
  ['an empty quoted string', 'Basic realm=""', ['basic realm=']],
  ['names in any case', 'Basic REALM="Simple"', ['basic realm=Simple']],
  ['two parameters', 'Bearer realm="a", error="b"', ['bearer realm=a|error=b']],
  ['two parameters without a blank', 'Bearer realm="a",error="b"', ['bearer realm=a|error=b']],
  ['blanks around =', 'Bearer realm = "a" ,\terror\t=\tb', ['bearer realm=a|error=b']],
  ['blanks around = of the first token', 'Bearer error = b', ['bearer error=b']],
  ['many blanks after the scheme', 'Bearer   realm="a"', ['bearer realm=a']],
  ['a tab after the scheme', 'Bearer\trealm="a"', ['bearer realm=a']],
  ['empty elements between parameters', 'Bearer realm="a",, ,error="b"', ['bearer realm=a|error=b']],
  ['a leading comma in the parameters', 'Bearer , realm="a"', ['bearer realm=a']],
  ['a comma in a quoted string', 'Basic realm="a, b=c, Digest d"', ['basic realm=a, b=c, Digest d']],
  ['escapes in a quoted string', 'Basic realm="a \\"b\\" \\\\ \\c"', ['basic realm=a "b" \\ c']],
  ['an equals sign in a quoted string', 'Basic realm="a=b"', ['basic realm=a=b']],
  ['a quoted string that ends in an escaped backslash', 'Basic realm="a\\\\", x=1', ['basic realm=a\\|x=1']],
  ['text beyond ASCII in a quoted string', 'Basic realm="größe"', ['basic realm=größe']],
  ['the example of RFC 9110', 'Basic realm="simple", Newauth realm="apps", type=1, title="Login to \\"apps\\""', ['basic realm=simple', 'newauth realm=apps|type=1|title=Login to "apps"']],
  ['its other order', 'Newauth realm="apps", type=1, title="Login to \\"apps\\"", Basic realm="simple"', ['newauth realm=apps|type=1|title=Login to "apps"', 'basic realm=simple']],
  ['two schemes with parameters', 'Digest realm="a", nonce="n", Bearer error="e"', ['digest realm=a|nonce=n', 'bearer error=e']],
  ['a bare scheme before one with parameters', 'Negotiate, Bearer realm="a"', ['negotiate', 'bearer realm=a']],
  ['a bare scheme after one with parameters', 'Bearer realm="a", Negotiate', ['bearer realm=a', 'negotiate']],
  ['a bare scheme between', 'Basic realm="a", Negotiate, Bearer realm="b"', ['basic realm=a', 'negotiate', 'bearer realm=b']],
  ['token68', 'Negotiate YIIB4wYGKwYBBQUC', ['negotiate YIIB4wYGKwYBBQUC']],
  ['token68 with padding', 'Negotiate YII=', ['negotiate YII=']],
  ['token68 with two padding characters', 'Negotiate YI==', ['negotiate YI==']],
  ['token68 with all its characters', 'X aZ09-._~+/==', ['x aZ09-._~+/==']],
  ['token68, then another scheme', 'Negotiate YII=, Bearer realm="a"', ['negotiate YII=', 'bearer realm=a']],
  ['token68 with a trailing blank', 'Negotiate YII= ,NTLM', ['negotiate YII=', 'ntlm']],
  ['a repeated parameter', 'Bearer resource_metadata="a", resource_metadata="b"', ['bearer resource_metadata=a|resource_metadata=b']],
  ['a repeated scheme', 'Bearer realm="a", Bearer realm="b"', ['bearer realm=a', 'bearer realm=b']],
  ['several header values', ['Basic realm="a"', 'Bearer realm="b"'], ['basic realm=a', 'bearer realm=b']],
  ['a broken value beside a good one', ['"', 'Bearer realm="b"'], ['bearer realm=b']],
  ['a challenge of MCP', 'Bearer resource_metadata="https://x.example/.well-known/oauth-protected-resource/mcp", scope="a b"', ['bearer resource_metadata=https://x.example/.well-known/oauth-protected-resource/mcp|scope=a b']],
  ['an unquoted URL', 'Bearer resource_metadata=https://x.example/m?a=b&c=d, error=invalid_token', ['bearer resource_metadata=https://x.example/m?a=b&c=d|error=invalid_token']],
  ['blanks in place of commas', 'Bearer realm="a" error="b" scope=c', ['bearer realm=a|error=b|scope=c']],
  ['odd token characters', "X !#$%&'*+.^_`|~-=1", ["x !#$%&'*+.^_`|~-=1"]],
  ['a quoted string without an end', 'Bearer realm="a", error="b', ['bearer realm=a']],
  ['a parameter without a value', 'Bearer realm="a", error=', ['bearer realm=a']],
  ['a start that is no token', '"x" Bearer', []],
  ['a scheme that runs into a quote', 'Bearer"x"', []],
  ['a scheme that is a parameter', 'realm="a"', []],
];

assert.ok(vectors.length >= 40);
for (const [name, header, challenges] of vectors) {
  test(`parseChallenges() reads ${name}`, () => { assert.deepEqual(spelled(header), challenges); });
}

test('challengeParam() and challengeParams() find by name in any case, in order', () => {
  const [challenge] = parseChallenges('Bearer Scope="a", x=1, scope="b"');
  assert.equal(challengeParam(challenge!, 'SCOPE'), 'a');
  assert.deepEqual(challengeParams(challenge!, 'scope'), ['a', 'b']);
  assert.equal(challengeParam(challenge!, 'none'), undefined);
});

test('parseChallenges() is linear on hostile text', () => {
  for (const text of ['Bearer '.repeat(50_000), `Bearer ${'a='.repeat(100_000)}`, `Bearer a="${'\\"'.repeat(100_000)}`, `${' ,'.repeat(100_000)}`, `Bearer ${'a '.repeat(100_000)}`, `X ${'a=b,'.repeat(50_000)}`, `Bearer ${'='.repeat(200_000)}`, `X ${'a'.repeat(200_000)} `]) {
    const startedAt = performance.now();
    parseChallenges(text);
    const ms = performance.now() - startedAt;
    assert.ok(ms < 1500, `${text.slice(0, 20)} took ${ms.toFixed(0)} ms`);
  }
});
