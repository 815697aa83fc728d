/** Whether resources may be listed and read: one permission key, `read`, decides for people as it does for models. */
import * as path from 'node:path';
import type { JsonObject } from '../base/json.ts';
import type { Config } from '../config/types.ts';
import { nativeEntry, type ResourceToolId } from '../registry/native-tools.ts';
import { createPolicy } from '../registry/permission.ts';
import { canceled, deniedByRule, notAllowed } from '../registry/refusals.ts';
import type { Context } from './command.ts';
import { pathsOf } from './open.ts';
import { runRules } from './policy.ts';

/** Asks where a rule says so. Fails with PERMISSION_DENIED, or CANCELED. */
export async function admitReading(context: Context, config: Config, id: ResourceToolId, args: JsonObject): Promise<void> {
  const { terminal, parsed, signal } = context, { home, config: directory } = pathsOf(context), entry = nativeEntry(id, args);
  const policy = createPolicy({ permissions: config.permissions, servers: [...config.servers.keys()], extraRules: runRules(parsed), assumeYes: parsed.has('yes'), caseInsensitive: process.platform === 'win32', home });
  const decision = policy.decideNative('read', { id, args });
  if (decision.effect === 'deny') throw deniedByRule(entry, decision);
  if (decision.effect === 'allow') return;
  const { approve } = (await import('./ask.ts')).personAt(terminal, signal);
  const answer = await approve?.({ entry, args, decision }) ?? 'nobody';
  if (signal.aborted) throw canceled(entry);
  if (answer === 'no' || answer === 'nobody') throw notAllowed(entry, decision, answer, path.join(directory, 'zuno.json'));
}
