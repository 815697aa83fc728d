/** `audit`: where calls are recorded. A path, or an object with bounds. */
import * as path from 'node:path';
import { limits } from '../base/limits.ts';
import { nearest } from '../base/text.ts';
import { readWhole } from './exposure.ts';
import { kindName, originOf, type Setting } from './layers.ts';
import type { Complain } from './permissions.ts';
import type { AuditSettings } from './types.ts';

const KEYS: readonly string[] = ['file', 'max_bytes', 'keep'];

/** Paths are relative to the file that names them; `~` is home. */
export function readAudit(setting: Setting | undefined, home: string, complain: Complain): AuditSettings | undefined {
  if (setting === undefined) return undefined;
  const member = (key: string): Setting | undefined => (setting.kind === 'object' ? setting.members.get(key) : undefined);
  for (const [key, value] of setting.kind === 'object' ? setting.members : []) {
    if (KEYS.includes(key)) continue;
    const near = nearest(key, KEYS, 1)[0];
    complain(value, `unknown key${near === undefined ? '' : `; did you mean "${near}"?`}`);
  }
  const file = setting.kind === 'object' ? member('file') : setting;
  const written = file?.kind === 'scalar' && typeof file.value === 'string' ? file.value : undefined;
  const maxBytes = member('max_bytes'), keep = member('keep');
  const bounds = {
    maxBytes: (maxBytes === undefined ? undefined : readWhole(maxBytes, limits.auditBytesMin, limits.auditBytesMax, complain)) ?? limits.auditBytes,
    keep: (keep === undefined ? undefined : readWhole(keep, 0, limits.auditFilesMax, complain)) ?? limits.auditFiles,
  };
  if (file === undefined || written === undefined || written.trim() === '' || written.includes('\0')) {
    complain(file ?? setting, file === undefined ? '"file" is missing' : written === undefined ? `the path of a file is due, not ${kindName(file)}` : 'the path of a file is due');
    return undefined;
  }
  const place = /^~(?=$|[/\\])/.test(written) ? path.resolve(home, `.${written.slice(1)}`) : path.resolve(file.at.layer.directory, written);
  return { file: place, ...bounds, origin: originOf(file.at) };
}
