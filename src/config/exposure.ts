/** `mcp_tool_exposure`: which tools a model is shown without asking. It decides nothing about what may be called. */
import { limits } from '../base/limits.ts';
import { nearest } from '../base/text.ts';
import { emptyConfig } from './defaults.ts';
import { kindName, originOf, settingAt, type Setting } from './layers.ts';
import type { Complain } from './permissions.ts';
import type { Diagnostic, ExposureMode, ExposurePolicy } from './types.ts';

const NUMBERS = {
  auto_tool_limit: ['autoToolLimit', limits.exposureToolsMax],
  auto_schema_bytes: ['autoSchemaBytes', limits.exposureBytesMax],
  small_server_tool_limit: ['smallServerToolLimit', limits.exposureToolsMax],
} as const;
const KEYS: readonly string[] = ['mode', ...Object.keys(NUMBERS), 'servers'];

export function readExposure(setting: Setting | undefined, complain: Complain): ExposurePolicy {
  const policy = { ...emptyConfig.exposure, servers: {} as Record<string, ExposureMode> };
  if (setting === undefined) return policy;
  if (setting.kind !== 'object') { complain(setting, `an object is due, not ${kindName(setting)}`); return policy; }
  for (const [key, value] of setting.members) {
    if (key === 'mode') policy.mode = readMode(value, complain) ?? policy.mode;
    else if (key === 'servers') policy.servers = readServers(value, complain);
    else if (Object.hasOwn(NUMBERS, key)) {
      const [field, most] = NUMBERS[key as keyof typeof NUMBERS];
      policy[field] = readWhole(value, 0, most, complain) ?? policy[field];
    } else {
      const near = nearest(key, KEYS, 1)[0];
      complain(value, `unknown key${near === undefined ? '' : `; did you mean "${near}"?`}`);
    }
  }
  return policy;
}

/** A whole number in a range, both ends included. */
export function readWhole(setting: Setting, least: number, most: number, complain: Complain): number | undefined {
  const value = setting.kind === 'scalar' ? setting.value : undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
  complain(setting, `a whole number from ${least} to ${most} is due, not ${kindName(setting)}`);
  return undefined;
}

function readMode(setting: Setting, complain: Complain): ExposureMode | undefined {
  const value = setting.kind === 'scalar' ? setting.value : undefined;
  if (value === 'auto' || value === 'eager' || value === 'deferred') return value;
  complain(setting, '"auto", "eager" or "deferred" is due');
  return undefined;
}

function readServers(setting: Setting, complain: Complain): Record<string, ExposureMode> {
  if (setting.kind !== 'object') { complain(setting, `an object is due, not ${kindName(setting)}`); return {}; }
  return Object.fromEntries([...setting.members].flatMap(([name, value]) => { const mode = readMode(value, complain); return mode === undefined ? [] : [[name, mode] as const]; }));
}

/** Names under `servers` that no server has. */
export function strayExposure(root: Setting | undefined, known: (name: string) => boolean, names: readonly string[]): Diagnostic[] {
  const servers = settingAt(root, 'mcp_tool_exposure', 'servers');
  if (servers?.kind !== 'object') return [];
  return [...servers.members].filter(([name]) => !known(name)).map(([name, { at }]) => {
    const near = nearest(name, names, 1)[0];
    return { code: 'config_exposure_unmatched', severity: 'warning', pointer: at.key, message: `Cannot use "${at.key}": there is no server "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}`, origin: originOf(at) };
  });
}
