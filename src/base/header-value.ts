/** Values of `Mcp-Name` and `Mcp-Param-*` headers (MCP 2026-07-28, Streamable HTTP, value encoding). */

/** Printable ASCII without surrounding blanks goes as it is, unless it looks encoded itself; all else as Base64 of its UTF-8. */
export function encodeHeaderValue(value: string): string {
  const plain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !(value.startsWith('=?base64?') && value.endsWith('?='));
  return plain ? value : `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`;
}
