/**
 * Skills over MCP (SEP-2640, extension `io.modelcontextprotocol/skills`): entries are believed or refused here, and a file that was
 * read is compared with what its entry promised before anyone gets to see it. A match says that the server agrees with itself,
 * no more: skills stay untrusted text.
 */
import { createHash } from 'node:crypto';
import { Failure, type AnyFailure } from '../base/failure.ts';
import { readFrontmatter } from '../base/frontmatter.ts';
import { canonicalJson, isObject, type JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { byteSize } from '../base/text.ts';
import { readPage, refuse, type Page } from './results.ts';
import type { ReadResourceResult, ResourceContents, ServerCapabilities, Skill, SkillFile } from './types.ts';

export const SKILLS = 'io.modelcontextprotocol/skills';
const SKILL_MD = '/SKILL.md';

/** Its methods may be used only where the server declares it. */
export function offersSkills(capabilities: ServerCapabilities): boolean {
  return isObject(capabilities.extensions) && isObject(capabilities.extensions[SKILLS]);
}

// ---- entries

export function readSkills(result: JsonObject): Page<Skill> {
  return readPage('skills/list', 'skills', result, readSkill);
}

/** Of `skills/get`: the one that was asked for, or none. */
export function skillReader(uri: string): (result: JsonObject) => Skill {
  return (result) => {
    const entry = result['skill'];
    const skill = isObject(entry) ? readSkill(entry) : 'it is not an object';
    if (typeof skill === 'string') throw refuse('skills/get', `the skill cannot be used: ${skill}`, entry);
    if (skill.uri !== uri) throw refuse('skills/get', `it is of another skill, ${JSON.stringify(skill.uri)}`);
    return skill;
  };
}

/** The entry as it came, or what is wrong with it. */
function readSkill(item: JsonObject): Skill | string {
  const { uri, frontmatter, resources } = item;
  if (typeof uri !== 'string' || !uri.endsWith(SKILL_MD) || !URL.canParse(uri)) return 'its uri is not that of a SKILL.md';
  if (!isObject(frontmatter)) return 'its frontmatter is not an object';
  const { name, description } = frontmatter;
  if (typeof name !== 'string' || name === '' || typeof description !== 'string' || description === '') return 'its frontmatter lacks a name or a description';
  if (rootOf(uri).split('/').at(-1) !== name) return `its name ${JSON.stringify(name)} is not the last part of its path`;
  if (resources === 'dynamic') return item as unknown as Skill;
  return Array.isArray(resources) ? faultOfFiles(uri, resources) ?? item as unknown as Skill : 'its resources are neither a list nor "dynamic"';
}

function rootOf(uri: string): string {
  return uri.slice(0, -SKILL_MD.length);
}

function faultOfFiles(uri: string, files: readonly unknown[]): string | undefined {
  if (files.length > limits.skillFiles) return `it has more than ${limits.skillFiles} files`;
  const seen = new Set<string>();
  let bytes = 0;
  for (const file of files) {
    if (!isObject(file) || typeof file['uri'] !== 'string' || !isInside(uri, file['uri'])) return 'a file of it lies outside of its directory';
    if (typeof file['digest'] !== 'string' || !/^sha256:[0-9a-f]{64}$/.test(file['digest'])) return `the digest of ${file['uri']} is not sha256 in 64 lower-case hex digits`;
    if (!Number.isSafeInteger(file['size']) || (file['size'] as number) < 0) return `the size of ${file['uri']} is no number of bytes`;
    if (seen.has(file['uri'])) return `${file['uri']} is listed twice`;
    seen.add(file['uri']);
    bytes += file['size'] as number;
  }
  if (!seen.has(uri)) return 'its own SKILL.md is not among its files';
  return bytes > limits.skillBytes ? `its files are larger than ${byteSize(limits.skillBytes)} together` : undefined;
}

/** No step of the path may lead out again, written plainly or encoded. */
function isInside(skill: string, uri: string): boolean {
  const root = `${rootOf(skill)}/`;
  return uri.startsWith(root) && uri.length > root.length && uri.slice(root.length).split('/').every((step) => step !== '' && !/^(?:\.|%2e){1,2}$/i.test(step));
}

// ---- files

/** What the entry says of a file; `undefined` where nothing can be said because the skill is dynamic. Throws for a file the skill does not have. */
export function listedFile(skill: Skill, uri: string): SkillFile | undefined {
  const file = skill.resources === 'dynamic' ? undefined : skill.resources.find((one) => one.uri === uri);
  if (file === undefined && (skill.resources !== 'dynamic' || !isInside(skill.uri, uri))) throw unverified(skill, uri, 'the skill does not list it');
  return file;
}

/** The content, if it is what the entry promised. Throws otherwise. */
export function verifiedFile(skill: Skill, uri: string, file: SkillFile | undefined, { contents }: ReadResourceResult): ResourceContents {
  const [content, more] = contents;
  if (content === undefined || more !== undefined || content.uri !== uri) throw unverified(skill, uri, `the answer holds ${contents.length === 1 ? 'another file' : `${contents.length} files`}`);
  const bytes = content.blob === undefined ? Buffer.from(content.text ?? '', 'utf8') : Buffer.from(content.blob, 'base64');
  if (file === undefined && bytes.length > limits.skillBytes) throw unverified(skill, uri, `it is larger than ${byteSize(limits.skillBytes)}`);
  if (file !== undefined) {
    if (bytes.length !== file.size) throw unverified(skill, uri, `its size is ${bytes.length} bytes instead of ${file.size}`);
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    if (digest !== file.digest) throw unverified(skill, uri, 'its digest is not the one of the entry');
  }
  // A nested SKILL.md is text like any other here: its frontmatter belongs to a skill of its own.
  if (uri === skill.uri) checkFrontmatter(skill, bytes.toString('utf8'));
  return content;
}

function checkFrontmatter(skill: Skill, text: string): void {
  const found = readFrontmatter(text);
  if ('problem' in found) throw unverified(skill, skill.uri, found.problem);
  const differs = [...new Set([...Object.keys(skill.frontmatter), ...Object.keys(found.value)])].filter((key) => !sameMember(skill.frontmatter, found.value, key));
  if (differs.length > 0) throw unverified(skill, skill.uri, `its frontmatter is not the one of the entry (${differs.slice(0, 5).join(', ')})`);
}

function sameMember(one: JsonObject, other: JsonObject, key: string): boolean {
  return Object.hasOwn(one, key) && Object.hasOwn(other, key) && canonicalJson(one[key]) === canonicalJson(other[key]);
}

function unverified(skill: Skill, uri: string, what: string): AnyFailure {
  return new Failure('PROTOCOL_VIOLATION', `Cannot use "${uri}" of the skill "${skill.frontmatter.name}": ${what}`, {
    stage: 'call', details: {}, recovery: 'blocked', hint: 'The skill may have changed: get its entry again, and have it approved again if it has',
  }) as AnyFailure;
}
