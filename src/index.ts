/** The embedding API: a host with configuration, policy and people. One server without a gate: `zuno-lite/client`. See docs/embedding.md. */
export { createHost } from './host/host.ts';
export { loadConfig } from './config/load.ts';
export { emptyConfig } from './config/defaults.ts';
export { resolvePaths } from './base/paths.ts';
export { Failure, isFailure, toFailure } from './base/failure.ts';
export { limits } from './base/limits.ts';
export { renderResult } from './registry/results.ts';
export { toChatResult, toChatResults, toChatTools, toMessageResult, toMessageTools } from './registry/provider-shapes.ts';
export { runMcpCommand } from './host/mcp-command.ts';
export { version } from './base/version.ts';
export type { AnyFailure, FailureCode, FailureDetails, FailureOptions, Origin, Problem, Recovery, Sent, Stage } from './base/failure.ts';
export type { JsonObject } from './base/json.ts';
export type { Limits } from './base/limits.ts';
export type { Log, LogEntry, LogLevel } from './base/log.ts';
export type { Paths, PathSources } from './base/paths.ts';
export type { Redact } from './base/redact.ts';
export type { LoadOptions } from './config/load.ts';
export type { Environment } from './config/substitute.ts';
export type {
  Admission, AgentDefinition, AuditSettings, CommandDefinition, Config, Diagnostic, LayerKind, LoadedLayer, LocalEntry, OriginOf, ProtocolChoice, Reference, RemoteEntry, ServerEntry, Template, Timeouts,
} from './config/types.ts';
export type {
  Attempt, Catalogue, CatalogueView, Connections, HistoryItem, Host, HostEvent, HostOptions, HttpAnswer, Lease, LeaseOptions, OpenServer, PastCall, Person, Reader, CompletionReference, Gated, GatedOptions, GatedTools, SchemaExposure, ServerLists, ServerRetry, ServerState, ServerStatus,
  Session, SessionCommand, SessionOptions, Step, StepCall, StepCallOptions, StepResult, Timing, ToolListing, Waiting,
} from './host/types.ts';
export type { Retry, RetryClock } from './host/recovery.ts';
export type { Timers } from './host/timers.ts';
export type { ConnectionFacts } from './http/types.ts';
export type { CloseReport, Notice, Outgoing, Sink, Stamp, Transport } from './jsonrpc/transport.ts';
export type { ErrorResponse, Id, Message, Notification, Request, ResultResponse, RpcError } from './jsonrpc/message.ts';
export type {
  Answers, CallSettings, CallToolResult, Client, ClientEvent, Completion, ContentBlock, Dropped, Elicitation, ElicitationAnswer, Era, GetPromptResult, Implementation, InputRelay, Listing, ListKind, Progress, Prompt, PromptArgument, PromptMessage,
  ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Root, ServerCapabilities, Skill, SkillFile, Tool, ToolAnnotations,
} from './mcp/types.ts';
export type { IdentityProvider } from './oauth/identity.ts';
export type { Visit } from './oauth/types.ts';
export type { ChatMessage, ChatPicture, ChatTool, MessageContent, MessageResult, MessageTool, ShownResult } from './registry/provider-shapes.ts';
export type { Part, Rendered } from './registry/results.ts';
export type { Approval, ApprovalAnswer, CallOptions, Decision, Effect, ExposureMode, ExposurePolicy, OfferedTool, Outcome, PermissionMode, Permissions, Rule, Standing, ToolEntry } from './registry/types.ts';
export type { TextWindow } from './registry/window.ts';
export type { ResourceToolId } from './registry/native-tools.ts';
