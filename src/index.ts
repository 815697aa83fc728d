/** The embedding API: a host with configuration, policy and people. One server without a gate: `zuno-lite/client`. */
export { createHost } from './host/host.ts';
export { loadConfig } from './config/load.ts';
export { resolvePaths } from './base/paths.ts';
export { Failure, isFailure } from './base/failure.ts';
export { limits } from './base/limits.ts';
export { renderResult } from './registry/results.ts';
export { version } from './base/version.ts';
export type { AnyFailure, FailureCode, FailureDetails, Origin, Recovery, Stage } from './base/failure.ts';
export type { Log, LogEntry } from './base/log.ts';
export type { Paths } from './base/paths.ts';
export type { Config, ServerEntry } from './config/types.ts';
export type { Host, HostOptions, OpenServer, Person, ServerStatus, ToolListing } from './host/types.ts';
export type { Approval, ApprovalAnswer, CallOptions, Decision, Outcome, Rule, ToolEntry } from './registry/types.ts';
export type { IdentityProvider } from './oauth/identity.ts';
export type { Visit } from './oauth/types.ts';
export type { CallToolResult, Client, ContentBlock, Elicitation, ElicitationAnswer, Progress, Skill, SkillFile, Tool } from './mcp/types.ts';
